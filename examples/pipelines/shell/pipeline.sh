#!/usr/bin/env bash
# The same jobs for every other CI system: pipeline.sh diff|deploy|plan|apply CHECKSUM|drift
#
# Run it in the folder of the project. It ends with the exit code of what it ran.
set -euo pipefail

export TERRAFORM_BINARY_NAME="${TERRAFORM_BINARY_NAME:-opsconsole-terraform}"  # or: terraform
lock="--lock-timeout=${LOCK_TIMEOUT:-5m}"
export TF_CLI_ARGS_plan="$lock" TF_CLI_ARGS_apply="$lock"

if [ ! -x .venv/bin/opsconsole ]; then
  python3 -m venv .venv
  .venv/bin/pip install --quiet --require-hashes -r requirements.lock
fi
PATH="$PWD/.venv/bin:$PATH"

cdktf() {
  if [ ! -d node_modules ]; then npm ci --ignore-scripts; fi
  if [ "$TERRAFORM_BINARY_NAME" = terraform ]; then opsconsole provider install; fi
  npx cdktf "$@" --skip-provider-lock
}

case "${1:-}" in
  # With cdktf: on a change, and after the merge.
  diff) cdktf diff ;;
  deploy) cdktf deploy --auto-approve ;;

  # Natively: plan, read review/plan.html, apply exactly that plan. No checksum is printed where
  # there is nothing to apply.
  plan)
    mkdir -p review
    opsconsole plan --input=false "$lock" --preflight --no-color \
      --out=review/plan.opsconsole --html=review/plan.html --markdown=review/plan.md
    ;;
  apply)
    opsconsole apply --input=false "$lock" --no-color \
      --checksum="${2:?the checksum that the plan printed}" review/plan.opsconsole
    ;;

  # On a schedule. The folder reports/ is kept until the next run, which compares with it.
  drift)
    mkdir -p reports
    opsconsole drift --program --no-color --since=reports/drift.json --format=terminal \
      --format=html=reports/drift.html --format=json=reports/drift.json
    ;;
  *)
    echo "usage: $0 diff|deploy|plan|apply CHECKSUM|drift" >&2
    exit 1
    ;;
esac
