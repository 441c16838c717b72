"""Programs of many operations, for growth.py and benchmarks/program-size."""

HEAD = "tpsp.program <b = 4, d = 8> {\nmesh @mesh <dp = 2 : data>\n"


def chain(size):
    """Returns a chain of operations on elements."""
    lines = [f"  %y{i + 1} = gelu %y{i}\n" for i in range(size)]
    return (HEAD + "func @f(%x: [b@dp, d], param %w: [d]) -> [b@dp, d] {\n"
            "  %y0 = mul %x, %w\n" + "".join(lines) + f"  return %y{size}\n}}\n}}\n")


def parameters(size):
    """Returns a chain in which each parameter is multiplied by the last
    result."""
    names = "".join(f", param %w{i}: [d]" for i in range(size))
    lines = [f"  %x{i + 1} = mul %x{i}, %w{i}\n" for i in range(size)]
    return (HEAD + f"func @f(%x0: [b@dp, d]{names}) -> [b@dp, d] {{\n" +
            "".join(lines) + f"  return %x{size}\n}}\n}}\n")


def fan(size):
    """Returns products of one input with all parameters; the input's gradient
    is a long sum."""
    names = "".join(f", param %w{i}: [d]" for i in range(size))
    lines = [f"  %z{i} = mul %x, %w{i}\n  %s{i + 1} = add %s{i}, %z{i}\n"
             for i in range(size)]
    return (HEAD + f"func @f(%x: [b@dp, d], param %v: [d]{names}) -> [b@dp, d] {{\n"
            "  %s0 = mul %x, %v\n" + "".join(lines) + f"  return %s{size}\n}}\n}}\n")


def sharded(size):
    """Layers with a weight each, which is gathered."""
    return ("tpsp.program bf16 <b = 8192, d = 4096, e = 4096> {\nmesh @mesh <fsdp = 8>\n"
            "func private @layer(%x: [b@fsdp, d], param %w: [d@fsdp, e], param %v: [e@fsdp, d]) -> [b@fsdp, d] {\n"
            "  %h = einsum %x, %w -> [b@fsdp, e]\n  %y = gelu %h\n"
            "  %z = einsum %y, %v -> [b@fsdp, d]\n  return %z\n}\n"
            "func @f(%x: [b@fsdp, d]) -> [b@fsdp, d] {\n"
            f'  %y = repeat {size} @layer(%x) as "l#.*"\n  return %y\n}}\n}}\n')


def layers(size):
    """Returns calls of one function."""
    return (HEAD + "func private @layer(%x: [b@dp, d], param %w: [d]) -> [b@dp, d] {\n"
            "  %n = mul %x, %w\n  %y = gelu %n\n  return %y\n}\n"
            "func @f(%x: [b@dp, d]) -> [b@dp, d] {\n"
            f'  %y = repeat {size} @layer(%x) as "l#.*"\n  return %y\n}}\n}}\n')
