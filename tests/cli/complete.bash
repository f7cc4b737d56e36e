source ./opsconsole.bash
for line in "$@"; do
  echo "= $line"
  read -ra COMP_WORDS <<< "opsconsole $line"
  [[ $line == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  $(complete -p opsconsole | sed 's/.*-F \([^ ]*\).*/\1/') \
    opsconsole "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  printf '%s\n' "${COMPREPLY[@]}"
done
