// Measured steps correct predictions: --measured.
// REQUIRES: tpsp-run
// DEFINE: %{plan} = tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --overlap off --optimizer adamw --max-axes 1

// Steps that take 1.5 times as long as predicted: predictions become so long.
// RUN: %{plan} --json > %t.json
// RUN: python3 -c "import csv, json, sys; w = csv.writer(sys.stdout); w.writerow(['plan', 'seconds', 'bytes']); [w.writerow([p['subscripts'], 1.5 * p['seconds'], int(1.2 * p['memory']['total'])]) for p in json.load(open(sys.argv[1]))['plans'] if p['rank'] in (1, 2, 3, 4)]" %t.json > %t.csv
// RUN: %{plan} --measured %t.csv | FileCheck %s
// CHECK: Calibrated by 4 runs
// CHECK-NEXT: products {{ *}}times 1.{{[0-9]+}}
// CHECK: memory {{ *}}times 1.20
// CHECK: each run is predicted from the others to {{[0-5]\.[0-9]}} % on average
// CHECK-NOT: contradicts
// CHECK: the search went by times and bytes that are not calibrated: a plan that it left out may be faster, or fit
// CHECK-NOT: gap
// RUN: %{plan} --measured %t.csv --json > %t.after.json
// RUN: python3 -c "import json, sys; a, b = ({p['subscripts']: p for p in json.load(open(f))['plans'] if 'memory' in p and p['bound'] is False} for f in sys.argv[1:]); r = [b[n]['seconds'] / a[n]['seconds'] for n in a if n in b]; assert len(r) > 3 and all(1.3 < x < 1.7 for x in r), r; assert all(b[n]['error'] > 0 for n in b)" %t.json %t.after.json
// RUN: python3 -c "import json, sys; a, b = (json.load(open(f)) for f in sys.argv[1:]); assert a['search']['calibration'] == '' and type(a['search']['gap']) is float; assert 'Calibrated by 4 runs' in b['search']['calibration'] and b['search']['gap'] is None; assert {p.get('bound') for p in b['plans']} <= {None, False}" %t.json %t.after.json

// If no compiled plan fits as calibrated, others may.
// RUN: not %{plan} --measured %t.csv --memory 1MiB 2>&1 | FileCheck %s --check-prefix=FITS
// FITS-NOT: no plan fits
// FITS: tpsp-plan: no compiled plan fits as calibrated; plan again with --memory divided by the factor of memory{{$}}
// FITS-NOT: would do

// One run frees no factor of time. A run that contradicts the others is named.
// RUN: head -2 %t.csv > %t.one.csv
// RUN: %{plan} --measured %t.one.csv | FileCheck %s --check-prefix=ONE
// ONE: products {{ *}}stays 1: 1 run cannot tell it from the others
// ONE: memory {{ *}}stays 1: 1 run with bytes is too few
// RUN: sed '3s/,[0-9.e-]*,/,0.9,/' %t.csv > %t.wrong.csv
// RUN: %{plan} --measured %t.wrong.csv | FileCheck %s --check-prefix=WRONG
// WRONG: kernels {{ *}}times {{[12]}}.
// WRONG: contradicts the others: it took 900 ms, and they predict {{.*}}; its time is left out
// WRONG-NOT: contradict

// Runs of other programs, devices and settings count; a row without figures is
// only predicted.
// RUN: tpsp-opt %examples/llama-tiny.mlir --tpsp-set-extents=extent=b=8 -o %t.wide.mlir
// RUN: echo 'model,devices,plan,micro_batches,rematerialize,seconds,bytes' > %t.others.csv
// RUN: echo '%basename_t.tmp.wide.mlir,2,FSDP 2,2,full,0.009,' >> %t.others.csv
// RUN: echo ',8,FSDP 8,,,0.008,' >> %t.others.csv
// RUN: echo ',,FSDP 4,,,0.0075,' >> %t.others.csv
// RUN: echo ',2,FSDP 2,,,,' >> %t.others.csv
// RUN: %{plan} --measured %t.others.csv | FileCheck %s --check-prefix=OTHERS
// OTHERS: Calibrated by 3 runs
// OTHERS: run {{ *}}measured {{ *}}predicted {{ *}}calibrated
// OTHERS-NEXT: FSDP 2 ({{.*}}.wide.mlir, 2 devices, 2 micro-batches, rematerialise full) {{ *}}9.00 ms {{ *}}{{[0-9.]+}} ms
// OTHERS-NEXT: FSDP 8 (8 devices) {{ *}}8.00 ms
// OTHERS-NEXT: FSDP 4 {{ *}}7.50 ms
// OTHERS-NEXT: FSDP 2 (2 devices) {{ *}}{{[0-9.]+ .s +[0-9.]+ .s +[0-9.]+ .s$}}
// RUN: sed 's/FSDP 8,/FSDP 9,/' %t.others.csv > %t.nine.csv
// RUN: not %{plan} --measured %t.nine.csv 2>&1 | FileCheck %s --check-prefix=NINE
// NINE: tpsp-plan: --measured: the run of FSDP 9 (8 devices): no plan of the space is called 'FSDP 9'
// RUN: sed 's/.wide.mlir/.lost.mlir/' %t.others.csv > %t.lost.csv
// RUN: not %{plan} --measured %t.lost.csv 2>&1 | FileCheck %s --check-prefix=LOST
// LOST: tpsp-plan: --measured: the run of FSDP 2 ({{.*}}lost.mlir, 2 devices): {{.*}}lost.mlir
// RUN: %{plan} --measured %t.others.csv --json > %t.others.json
// RUN: python3 -c "import json, sys; r = json.load(open(sys.argv[1]))['search']['runs']; assert [x['seconds']['measured'] for x in r] == [0.009, 0.008, 0.0075, None], r; assert all(x['seconds']['predicted'] > 0 and x['seconds']['margin'] > 0 and x['bytes']['measured'] is None for x in r)" %t.others.json
// RUN: sed 's/,8,FSDP/,none,FSDP/' %t.others.csv > %t.devices.csv
// RUN: not %{plan} --measured %t.devices.csv 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: line 3: devices: expected a whole number from 1 to 1048576, or nothing, not 'none'

// RUN: echo 'plan,seconds,bytes' > %t.bad.csv
// RUN: echo 'FSDP 4,soon,' >> %t.bad.csv
// RUN: not %{plan} --measured %t.bad.csv 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: tpsp-plan: --measured: '{{.*}}bad.csv': line 2: seconds: expected a number from 1e-9 to 1e18, or nothing, not 'soon'
// RUN: sed 's/FSDP 4,soon/FSDP 9,1/' %t.bad.csv > %t.other.csv
// RUN: not %{plan} --measured %t.other.csv 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: tpsp-plan: --measured: no plan of the space is called 'FSDP 9'
// RUN: not %{plan} --measured %t.none.csv 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: tpsp-plan: --measured: cannot read '{{.*}}none.csv'
