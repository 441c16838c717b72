# shellcheck shell=bash
# Sourced by the other scripts: the repository's folder, messages, and the
# number of compilers to run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Prints a message to stderr; stdout is for results.
say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# The build directory of a preset: build for release, build-<preset> for others.
build_dir() {
  if [[ $1 == release ]]; then
    printf '%s/build\n' "$root"
  else
    printf '%s/build-%s\n' "$root" "$1"
  fi
}

# Prints the number of compilers to run at once: one per core, but no more than
# memory allows. A file that includes MLIR takes up to 1.5 GB. TPSP_JOBS
# overrides.
build_jobs() {
  if [[ -n ${TPSP_JOBS:-} ]]; then
    printf '%s\n' "$TPSP_JOBS"
    return
  fi
  local cores fits
  cores=$(nproc)
  fits=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
  ((fits >= 1)) || fits=1
  printf '%s\n' "$((cores < fits ? cores : fits))"
}
