"""`python -m opsconsole`: the command, where its script is not on the path."""

import sys

from opsconsole.cli.main import main

sys.exit(main())
