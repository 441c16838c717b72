// Steps by the profile of another system: --profile.
// REQUIRES: tpsp-run
// DEFINE: %{plan} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --devices 4 --optimizer adamw --max-axes 1 --seconds 0

// They take longer than tpsp's own: the host issues a kernel for each operation.
// RUN: %{plan} --hardware h100-sxm --overlap off --json > %t.own.json
// RUN: %{plan} --hardware h100-sxm --profile nanotron --json > %t.json
// RUN: python3 -c "import json, sys; a, b = ({p['subscripts']: p['seconds'] for p in json.load(open(f))['plans'] if p.get('bound') is False} for f in sys.argv[1:]); r = [b[n] / a[n] for n in a if n in b]; assert len(r) > 2 and all(1.3 < x for x in r), r" %t.own.json %t.json
// RUN: %{plan} --hardware h100-sxm --profile nanotron | FileCheck %s
// CHECK: Plans for {{.*}} on 4 devices of h100-sxm:host=37us, 74.5 GiB each, steps by the profile nanotron
// CHECK-NOT: allocates

// What the command line says goes first.
// RUN: %{plan} --profile nanotron --fuse all --overlap off --hardware h100-sxm:host=1us --rows 1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: of h100-sxm:host=1us,
// RUN: %{plan} --profile nanotron --hardware h100-sxm:host=1us -o %t.mlir > /dev/null
// RUN: head -20 %t.mlir | FileCheck %s --check-prefix=HEAD
// HEAD: --reduce-dtype f32
// HEAD-SAME: --fuse operations
// HEAD-SAME: --overlap parameters --hardware h100-sxm:host=1us --simulate

// A file of one's own, and what may be wrong with it.
// DEFINE: %{try} = not tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --profile %t.p.json 2>&1
// RUN: echo '{"name": "mine", "version": "1", "options": {"fuse": {"value": "none", "source": "here"}}}' > %t.p.json
// RUN: %{plan} --hardware h100-sxm --overlap off --profile %t.p.json --rows 1 | FileCheck %s --check-prefix=MINE
// MINE: of h100-sxm, 74.5 GiB each, steps by the profile mine
// RUN: echo '{"name": "mine", "version": "1", "options": {"fuze": {"value": "none", "source": "here"}}}' > %t.p.json
// RUN: %{try} | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: tpsp-plan: --profile: profile 'mine': options.fuze: no option of the compilation is called 'fuze'
// RUN: echo '{"name": "mine", "version": "1", "options": {"fuse": {"value": "some", "source": "here"}}}' > %t.p.json
// RUN: %{try} | FileCheck %s --check-prefix=VALUE
// VALUE: profile 'mine': options.fuse: no fuse is called 'some': all, pointwise, operations or none
// RUN: echo '{"name": "mine", "version": "1", "options": {"fuse": {"value": "none"}}}' > %t.p.json
// RUN: %{try} | FileCheck %s --check-prefix=SOURCE
// SOURCE: options.fuse.source: is missing
// RUN: echo '{"name": "mine", "version": "1", "host_us": {"value": -1, "source": "here"}}' > %t.p.json
// RUN: %{try} | FileCheck %s --check-prefix=HOST
// HOST: host_us.value: expected a number from 0 to 1000000000, not -1
// RUN: echo '{"name": "mine", "version": "1"}' > %t.p.json
// RUN: %{try} | FileCheck %s --check-prefix=EMPTY
// EMPTY: expected 'facts', 'options' or 'host_us'
// RUN: not %{plan} --hardware cpu:host=3us 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: 'cpu:host=3us': ranks on CPUs issue commands themselves; leave ':host=3us' away
