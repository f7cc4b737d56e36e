source opsconsole.fish
for line in $argv; echo "= $line"; complete -C "opsconsole $line" | cut -f 1; end
