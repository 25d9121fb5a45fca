#!/bin/sh
# The peers that benchmarks compare with, each in a virtual environment of its own: their pins do not fit together.
# Usage: peers.sh [NAME...]; without a name, all of them. Nothing in `make test` or `make check` needs these.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}

peer() {
    name=$1
    shift
    case " $wanted " in *" all "* | *" $name "*) ;; *) return 0 ;; esac
    [ -f ".peers/$name/ready" ] && { echo "$name is there"; return 0; }
    echo "installing $name"
    "$PYTHON" -m venv ".peers/$name"
    ".peers/$name/bin/pip" install --quiet -U pip wheel "setuptools<81"
    if ".peers/$name/bin/pip" install --quiet "$@"; then touch ".peers/$name/ready"; else echo "$name did not install"; fi
}

wanted=${*:-all}
peer opendp "opendp[polars]==0.16.0"
peer tumult "tmlt.analytics==0.21.0"
peer pipelinedp "pipeline-dp==0.3.1" pyarrow pandas
peer smartnoise "smartnoise-sql==1.0.10" pyarrow duckdb
peer qrlew "pyqrlew==0.9.27" duckdb sqlalchemy duckdb-engine
peer diffprivlib "diffprivlib==0.6.6" "scikit-learn==1.7.2"
peer pythondp "python-dp==1.1.5" numpy
peer multifreq "multi-freq-ldpy"
peer anonypy "anonypy==0.2.1" "pandas<3"
peer anjana "anjana==1.2.3"
peer pycanon "pycanon==1.3.6"
