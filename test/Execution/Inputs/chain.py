"""chain.py FUNCTION COUNT: prints a program that applies a scalar function
COUNT times."""
import sys

function, count = sys.argv[1], int(sys.argv[2])
print("tpsp.program <s = 64> {\nmesh @mesh <dp = 1 : data>\nfunc @f(%x0: [s@dp]) -> [s@dp] {")
for i in range(count):
    print(f"  %x{i + 1} = {function} %x{i}")
print(f"  return %x{count}\n}}\n}}")
