# The lit suite: tpsp-opt and tpsp-run on .mlir files. GoogleTest binaries are
# ctest's own.
import os
import shutil
import subprocess

import lit.formats

from lit.llvm import llvm_config

config.name = "TPSP"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["CMakeLists.txt", "Inputs", "unit", "conformance"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tpsp_obj_root, "test")

# Variables of one function's checks end with it. An unused prefix is an error,
# because it is likely a typo.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
for name in os.environ:
    if name.startswith("TPSP_"):
        config.environment[name] = os.environ[name]

# Tests run small programs once. Those of training and of the examples have the
# machine code of real runs, and every night all have.
if "TPSP_NIGHTLY" not in os.environ:
    config.environment.setdefault("TPSP_CODE_EFFORT", "little")

config.substitutions.append(
    ("%examples", os.path.join(config.tpsp_src_root, "examples"))
)

# How many mistakes tpsp-check plants in a test of itself.
config.substitutions.append(
    ("%planted", os.environ.get("TPSP_CHECK_PLANTED", "30"))
)

# The pages of the documentation, and the scripts that make their figures.
config.substitutions += [
    ("%docs", os.path.join(config.tpsp_src_root, "docs")),
    (
        "%make_pages",
        os.path.join(config.tpsp_src_root, "scripts", "make-pages")
        + " --tools " + config.tpsp_tools_dir,
    ),
]

# The passes that decide communication, before shapes are local.
config.substitutions.append(
    (
        "%to_collectives",
        "--tpsp-decompose-early --tpsp-propagate --tpsp-differentiate"
        " --tpsp-insert-collectives --tpsp-fuse-collectives"
        " --tpsp-bucket-collectives",
    )
)

# For FileCheck: a check must name every collective.
config.substitutions.append(
    (
        "%no_other",
        " ".join(
            "--implicit-check-not=tpsp." + kind
            for kind in ["all_", "reduce_scatter", "slice", "permute"]
        ),
    )
)

# The ledger of a model and its backward pass, as sorted rows "count phase kind
# axes (index) bytes", or without bytes. Tests compare all of them with their
# lines "// ROW:".
ledger_rows = "sed -f " + os.path.join(
    config.test_source_root, "Pipelines", "Inputs", "ledger-rows.sed"
)
counted = " | env LC_ALL=C sort | uniq -c | sed 's/^ *//'"
config.substitutions += [
    (
        "%to_ledger",
        "--tpsp-collective-pipeline=grad=true --tpsp-drop-primals"
        " --tpsp-partition --tpsp-decompose-late --convert-tpsp-to-plan",
    ),
    ("%ledger_rows", ledger_rows + counted),
    ("%ledger_counts", ledger_rows + " | sed 's/ [0-9]*$//'" + counted),
    ("%expected_rows", "sed -n 's,^// ROW: *,,p'"),
]

llvm_config.with_environment("PATH", config.tpsp_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.add_tool_substitutions(
    ["tpsp-opt", "FileCheck", "not", "count", "split-file"],
    [config.tpsp_tools_dir, config.llvm_tools_dir],
)

# tpsp-run is a feature, because a build may lack it.
if os.path.exists(os.path.join(config.tpsp_tools_dir, "tpsp-run")):
    config.available_features.add("tpsp-run")
    llvm_config.add_tool_substitutions(
        ["tpsp-plan", "tpsp-run", "tpsp-train"], [config.tpsp_tools_dir]
    )
llvm_config.add_tool_substitutions(["tpsp-import"], [config.tpsp_tools_dir])

# valgrind counts the instructions that a tool executes.
if shutil.which("valgrind"):
    config.available_features.add("valgrind")
else:
    lit_config.note("no valgrind: how work grows with a program is not tested")

# Processes under mpirun are a feature if MPI is installed and the transport was
# built. The machine may have fewer cores than a test has processes.
config.substitutions.append(
    (
        "%mpirun",
        "mpirun --allow-run-as-root --oversubscribe --bind-to none"
        " --mca btl_base_warn_component_unused 0",
    )
)
config.substitutions.append(("%tools_dir", config.tpsp_tools_dir))
transport = os.path.join(config.tpsp_obj_root, "lib", "libtpsp_mpi.so")
if shutil.which("mpirun") and os.path.exists(transport):
    config.available_features.add("mpi")

# Makes a folder a disk of 512 KiB for one command, which needs root and a mount
# namespace.
small_disk = os.path.join(
    config.test_source_root, "processes", "Inputs", "on-small-disk"
)
config.substitutions.append(("%on_small_disk", small_disk))
if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("small-disk")

# Two hosts on this machine. The script itself says whether that is possible.
two_hosts = os.path.join(config.tpsp_src_root, "scripts", "two-hosts")
config.substitutions.append(("%two_hosts", two_hosts))
if "mpi" in config.available_features:
    asked = subprocess.run([two_hosts, "true"], stderr=subprocess.PIPE, text=True)
    if asked.returncode == 0:
        config.available_features.add("network-namespaces")
    else:
        lit_config.note("no network-namespaces: " + asked.stderr.strip())

# Tests that take minutes, and find what seldom breaks, run every night.
if os.environ.get("TPSP_NIGHTLY"):
    config.available_features.add("nightly")

# Pages of --html in a browser are a feature if Chromium is installed.
chromium = shutil.which("chromium") or shutil.which("chromium-browser")
config.substitutions.append(
    (
        "%chromium",
        "%s --headless --no-sandbox --disable-gpu --virtual-time-budget=5000"
        " --enable-logging=stderr" % chromium,
    )
)
if chromium:
    config.available_features.add("chromium")
else:
    lit_config.note("no chromium: pages are not opened in a browser")

# Packages of PyPI to compare with are features if a Python has them all.
# TPSP_TEST_PYTHON names that Python (default: python3).
python = os.environ.get("TPSP_TEST_PYTHON", "python3")
config.substitutions.append(("%python", python))
for feature, packages in {
    # Scripts of tests that write or read arrays.
    "numpy": ["numpy"],
    # Models with which imported ones are compared.
    "transformers": ["torch", "transformers", "safetensors", "numpy"],
    # Systems that read the output of --export; for most their sources are
    # enough (pip install --no-deps). A version may follow.
    "hf-source": ["transformers"],
    "torchtitan-0.2": ["torchtitan==0.2"],
    "torchtitan-0.3": ["torchtitan==0.3"],
    "megatron-core": ["megatron", "torch"],
}.items():
    found = subprocess.run(
        [python, "-c", """
import importlib.metadata, importlib.util, sys
def has(package):
    name, _, version = package.partition("==")
    return importlib.util.find_spec(name) and (
        not version or importlib.metadata.version(name).startswith(version + "."))
print(*[each for each in sys.argv[1:] if not has(each)])"""] + packages,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if found.returncode == 0 and not found.stdout.strip():
        config.available_features.add(feature)
    else:
        lit_config.note(f"no {feature}: " + (found.stdout.strip() or python) + " missing")
