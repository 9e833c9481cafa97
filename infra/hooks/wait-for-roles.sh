#!/bin/sh
# After provisioning: wait until storage knows the new roles, since an app that starts earlier finds no functions and stays so.
# The deployer's own role on the package container was made in the same step as the app's, so once it works theirs do too.
set -eu

: "${PACKAGE_CONTAINER_URL:?set by the deployment}"
limit_seconds=${ROLE_WAIT_SECONDS:-300}
pause_seconds=${ROLE_WAIT_PAUSE_SECONDS:-10}

if [ -z "${DEPLOYER_PRINCIPAL_ID:-}" ] || [ "${PACKAGE_CONTAINER_IS_PUBLIC:-true}" = false ]; then
  echo "Nobody to ask as, or a private storage account: waiting $limit_seconds s for the roles."
  sleep "$limit_seconds"
  exit 0
fi

# Prints the HTTP status of one listing with the deployer's token.
ask() {
  token=$(azd auth token --scope https://storage.azure.com/.default)
  printf 'header = "Authorization: Bearer %s"\n' "$token" | curl --config - --silent --output /dev/null \
    --header 'x-ms-version: 2023-11-03' --write-out '%{http_code}' \
    "$PACKAGE_CONTAINER_URL?restype=container&comp=list&maxresults=1" || true
}

waited=0
while :; do
  status=$(ask)
  if [ "$status" = 200 ]; then
    echo "Roles work after $waited s."
    exit 0
  fi
  if [ "$waited" -ge "$limit_seconds" ]; then
    echo "Roles do not work after $waited s (storage answered $status)." >&2
    echo "They may take up to ten minutes: run 'azd deploy' then." >&2
    exit 1
  fi
  sleep "$pause_seconds"
  waited=$((waited + pause_seconds))
done
