// KempnerInstitute/KempnerForge#115, OpenNMT/OpenNMT-py#617: saved moments are
// silently dropped when a run is resumed.
//
// Here a checkpoint has all state by name, and missing state is refused
// (resume.mlir). The run that goes on has the moments of the run that did not
// end; one from the parameters alone has others.
// RUN: rm -rf %t && mkdir %t
// RUN: python3 %S/Inputs/write-model.py %t/m.mlir "dp = 2 : data" x.b=@dp
// RUN: tpsp-train %t/m.mlir --data %t/text --schedule constant --warmup 0 --steps 4 --save-every 2 --quiet --out %t/whole
// RUN: tpsp-train %t/m.mlir --data %t/text --schedule constant --warmup 0 --steps 4 --quiet --resume %t/whole/step-00000002 --out %t/on
// RUN: cmp %t/whole/step-00000004/state.safetensors %t/on/step-00000004/state.safetensors
// RUN: tpsp-train %t/m.mlir --data %t/text --schedule constant --warmup 0 --steps 2 --quiet --weights %t/whole/step-00000002/parameters.safetensors --out %t/anew
// RUN: not cmp %t/whole/step-00000004/state.safetensors %t/anew/step-00000002/state.safetensors
