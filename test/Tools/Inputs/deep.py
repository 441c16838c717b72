# deep.py KIND N: prints a module nested N levels deep, in the way that KIND
# names.
import sys

kind, n = sys.argv[1], int(sys.argv[2])
if kind == "types":
    print("func.func private @f(" + "tuple<" * n + "i32" + ">" * n + ")")
elif kind == "attributes":
    print("module attributes {test.a = " + "[" * n + "]" * n + "} {}")
elif kind == "regions":
    print("module {" * n + "}" * n)
elif kind == "locations":
    print("module {} loc(" + '"a"(' * n + "unknown" + ")" * n + ")")
elif kind == "negated":
    print("#m = affine_map<(d0) -> (" + "-" * n + "d0)>\nmodule {}")
elif kind == "sum":
    print("#m = affine_map<(d0) -> (" + "d0 + " * n + "d0)>\nmodule {}")
elif kind == "aliases":
    print("!a0 = i32")
    for i in range(n):
        print(f"!a{i + 1} = tuple<!a{i}>")
    print(f"func.func private @f(!a{n})")
elif kind == "flat":
    # Many constructs side by side, and text that only looks nested.
    print('// [[[[ "' * n)
    print(f'"{"(" * n}"() : () -> () loc("{"<" * n}")')
    for i in range(n):
        print(f"!t{i} = tuple<i32, tuple<i32>>")
        print(f"#m{i} = affine_map<(d0) -> (-d0 + 2, d0)>")
        print(f"#s{i} = affine_set<(d0) : (d0 >= 0, -d0 + 4 >= 0)>")
        print(f"#n{i} = dense<[-1.0, -1.0, -1.0e-5]> : tensor<3xf32>")
        print(f"func.func private @f{i}(!t{i}) -> (i32, i32)")
elif kind == "calls":
    # Each function calls the one above it.
    print("!x = tensor<2xf32, #tpsp.idx<b>>")
    print("func.func private @f0(%x: !x) -> !x {\n  %y = tpsp.dropout %x "
          "{rate = 0.1, seed = 1} : !x\n  return %y : !x\n}")
    for i in range(1, n):
        private = "" if i == n - 1 else "private "
        print(f"func.func {private}@f{i}(%x: !x) -> !x {{\n  %y = call @f{i - 1}(%x) : "
              "(!x) -> !x\n  return %y : !x\n}")
elif kind == "parts":
    print('"a"() ((((\n// -----\n' * n)
else:
    sys.exit("unknown kind: " + kind)
