"""The language of synthesised programs: reading `cdk.tf.json` files and evaluating them."""
