#!/bin/sh
# Makes .venv with everything the project needs, once; finds the Python to do it with. See setup.py beside it.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

for python in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11 python; do
    if command -v "$python" >/dev/null 2>&1 && new_enough "$python"; then
        exec "$python" "$here/setup.py"
    fi
done

found=$(python3 --version 2>&1 || true)
echo "Python 3.11 or newer is needed (found: ${found:-none}); install it, or name it: make PYTHON=/path/to/python3.11" >&2
exit 1
