// What an editor sees of a program in short form: types that were inferred, where
// an argument is declared, and errors in place. Messages as editors send them.
// RUN: tpsp-lsp-server --lit-test < %s | FileCheck %s
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":123,"rootPath":"tpsp","capabilities":{},"trace":"off"}}
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{
  "uri":"test:///foo.mlir",
  "languageId":"mlir",
  "version":1,
  "text":"tpsp.program <s = 4, d = 2> {\nfunc private @layer(%x: [s, d], param %w: [d]) -> [s, d] {\n  %y = mul %x, %w\n  return %y\n}\nfunc @model(%x: [s, d]) -> [s, d] {\n  %y = repeat 2 @layer(%x) as \"l#.*\"\n  return %y\n}\n}"
}}}
// -----
{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{
  "textDocument":{"uri":"test:///foo.mlir"},
  "position":{"line":2,"character":4}
}}
// -----
{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{
  "textDocument":{"uri":"test:///foo.mlir"},
  "position":{"line":6,"character":4}
}}
// -----
{"jsonrpc":"2.0","id":3,"method":"textDocument/definition","params":{
  "textDocument":{"uri":"test:///foo.mlir"},
  "position":{"line":2,"character":11}
}}
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{
  "uri":"test:///bad.mlir",
  "languageId":"mlir",
  "version":1,
  "text":"tpsp.program <s = 4> {\nfunc @f(%x: [s, d]) {\n  return\n}\n}"
}}}
// -----
{"jsonrpc":"2.0","id":4,"method":"shutdown"}
// -----
{"jsonrpc":"2.0","method":"exit"}
// CHECK: "diagnostics": []
// CHECK: "id": 1,
// CHECK: "value": "`y[s, d]`  f32, 4 x 2, 32 B per rank
// CHECK: "id": 2,
// CHECK: "value": "`y[s, d]`
// CHECK: "id": 3,
// CHECK: "line": 1
// CHECK: "message": "index 'd' has no extent; add it to the program's, as in tpsp.program <d = 8>",
// CHECK: "character": 8,
// CHECK-NEXT: "line": 1
