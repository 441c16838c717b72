"""Small whole models, with the subscripts of a strategy.

llama(places) and experts(places) return a program. `places` gives the axes of a
tensor's index: {"x.b": "@dp"} writes b@dp on activations between layers,
{"w.d": "@fsdp"} writes d@fsdp on weights.
"""

LAYERS = 4
B, S, D, V, H, K, E = 8, 32, 32, 64, 4, 8, 64
EXPERTS, SLOTS = 4, 24


def program(mesh, types, layer, weights, places):
    """Returns layers as calls, between an embedding and a loss."""
    for key, axes in places.items():
        types = types.replace("{" + key + "}", axes)
    types = "".join(
        part if i == 0 else part.split("}", 1)[1] for i, part in enumerate(types.split("{")))
    arguments = [
        f'%l{i}_{name}: !{kind} {{tpsp.param = "layers.{i}.{name}"}}'
        for i in range(LAYERS) for name, kind in weights]
    kinds = ", ".join("!" + kind for _, kind in weights)
    calls = "".join(
        f"  %x{i + 1} = func.call @layer(%x{i}, "
        + ", ".join(f"%l{i}_{name}" for name, _ in weights)
        + f") : (!x, {kinds}) -> !x\n"
        for i in range(LAYERS))
    plain = ", ".join(f"%{name}: !{kind}" for name, kind in weights)
    mesh = f"tpsp.mesh @mesh <{mesh}>\n" if mesh else ""
    return f"""{mesh}{types}
!logits = tensor<{B}x{S}x{V}xf32, #tpsp.idx<b, s, v, ?>>
!token  = tensor<{B}x{S}xf32, #tpsp.idx<b, s, ?>>
!loss   = tensor<f32, #tpsp.idx<>>
func.func private @layer(%x: !x, {plain}) -> !x {{
{layer}  return %z : !x
}}
func.func @model(
    %tokens: !ids {{tpsp.name = "tokens", tpsp.data = "tokens"}},
    %targets: !ids {{tpsp.name = "targets", tpsp.data = "next_tokens"}},
    %table: !table {{tpsp.param = "table"}},
    {", ".join(arguments)},
    %gain: !gain {{tpsp.param = "gain"}}, %head: !table {{tpsp.param = "head"}}) -> !loss {{
  %x0 = tpsp.embedding %tokens, %table {{vocabulary = "v"}} : (!ids, !table) -> !x
{calls}  %n = tpsp.rms_norm %x{LAYERS}, %gain : (!x, !gain) -> !x_
  %logits = tpsp.einsum %head, %n : (!table, !x_) -> !logits
  %token = tpsp.cross_entropy %logits, %targets {{over = "v"}} : (!logits, !ids) -> !token
  %loss = tpsp.mean %token : (!token) -> !loss
  return %loss : !loss
}}
"""


COMMON = f"""
!ids   = tensor<{B}x{S}xi32, #tpsp.idx<b{{x.b}}, s{{ids.s}}>>
!x     = tensor<{B}x{S}x{D}xf32, #tpsp.idx<b{{x.b}}, s{{x.s}}, d>>
!x_    = tensor<{B}x{S}x{D}xf32, #tpsp.idx<b, s, d, ?>>
!table = tensor<{V}x{D}xf32, #tpsp.idx<v{{w.v}}, d{{w.d}}>>
!gain  = tensor<{D}xf32, #tpsp.idx<d>>
"""

ATTENTION = f"""  %xn = tpsp.rms_norm %x, %gain0 : (!x, !gain) -> !x_
  %q0 = tpsp.einsum %wq, %xn : (!wq, !x_) -> !q
  %k0 = tpsp.einsum %wk, %xn : (!wq, !x_) -> !q
  %v0 = tpsp.einsum %wv, %xn : (!wq, !x_) -> !q
  %qr = tpsp.rope %q0 {{position = "s", feature = "k", theta = 10000.0}} : !q
  %kr = tpsp.rope %k0 {{position = "s", feature = "k", theta = 10000.0}} : !q
  %k  = tpsp.rename %kr : !q -> !past
  %v  = tpsp.rename %v0 : !q -> !past
  %o  = tpsp.attention %qr, %k, %v {{query = "s", key = "t", feature = "k",
          scale = 0.35355339059327373, causal}} : (!q, !past, !past) -> !q
  %a  = tpsp.einsum %wo, %o : (!wo, !q) -> !x_
  %h  = tpsp.add %x, %a : (!x, !x_) -> !x_
  %hn = tpsp.rms_norm %h, %gain1 : (!x_, !gain) -> !x_
"""


def llama(mesh="", places={}):
    types = COMMON + f"""!q    = tensor<{B}x{S}x{H}x{K}xf32, #tpsp.idx<b, s, h, k, ?>>
!past = tensor<{B}x{S}x{H}x{K}xf32, #tpsp.idx<b, t, h, k, ?>>
!mid  = tensor<{B}x{S}x{E}xf32, #tpsp.idx<b, s, e, ?>>
!wq   = tensor<{H}x{K}x{D}xf32, #tpsp.idx<h{{w.h}}, k, d{{w.d}}>>
!wo   = tensor<{D}x{H}x{K}xf32, #tpsp.idx<d{{w.d}}, h{{w.h}}, k>>
!wup  = tensor<{E}x{D}xf32, #tpsp.idx<e{{w.e}}, d{{w.d}}>>
!wdn  = tensor<{D}x{E}xf32, #tpsp.idx<d{{w.d}}, e{{w.e}}>>
"""
    layer = ATTENTION + """  %g = tpsp.einsum %w1, %hn : (!wup, !x_) -> !mid
  %gs = tpsp.silu %g : !mid
  %u = tpsp.einsum %w3, %hn : (!wup, !x_) -> !mid
  %m = tpsp.mul %gs, %u : !mid
  %f = tpsp.einsum %w2, %m : (!wdn, !mid) -> !x_
  %z = tpsp.add %h, %f : (!x_, !x_) -> !x
"""
    weights = [("gain0", "gain"), ("wq", "wq"), ("wk", "wq"), ("wv", "wq"),
               ("wo", "wo"), ("gain1", "gain"), ("w1", "wup"), ("w3", "wup"), ("w2", "wdn")]
    return program(mesh, types, layer, weights, places)


def experts(mesh="", places={}):
    """Returns a model in which a router chooses two of four experts for each
    token."""
    types = COMMON + f"""!gate = tensor<{EXPERTS}x{D}xf32, #tpsp.idx<e, d>>
!up   = tensor<{EXPERTS}x{E}x{D}xf32, #tpsp.idx<e{{x.b}}, f, d>>
!down = tensor<{EXPERTS}x{D}x{E}xf32, #tpsp.idx<e{{x.b}}, d, f>>
!score  = tensor<{B}x{S}x{EXPERTS}xf32, #tpsp.idx<b, s, e, ?>>
!choice = tensor<{B}x{S}x2xi32, #tpsp.idx<b, s, k, ?>>
!weight = tensor<{B}x{S}x2xf32, #tpsp.idx<b, s, k, ?>>
!slots  = tensor<{EXPERTS}x{B}x{SLOTS}x{D}xf32, #tpsp.idx<e{{x.b}}, b, c, d>>
!slots_ = tensor<{EXPERTS}x{B}x{SLOTS}x{D}xf32, #tpsp.idx<e, b, c, d, ?>>
!mid    = tensor<{EXPERTS}x{B}x{SLOTS}x{E}xf32, #tpsp.idx<e, b, c, f, ?>>
"""
    layer = """  %hn = tpsp.rms_norm %x, %gain0 : (!x, !gain) -> !x_
  %score = tpsp.einsum %gate, %hn : (!gate, !x_) -> !score
  %choice = tpsp.router %score {expert = "e", choice = "k"} : (!score) -> !choice
  %best = tpsp.one_hot_einsum %choice, %score {indices = ["e"]} : (!choice, !score) -> !weight
  %weight = tpsp.softmax %best {over = "k"} : !weight
  %y = tpsp.dispatch %choice, %hn {expert = "e", slot = "c", choice = "k"} : (!choice, !x_) -> !slots
  %u = tpsp.einsum %up, %y : (!up, !slots) -> !mid
  %s = tpsp.silu %u : !mid
  %v = tpsp.einsum %down, %s : (!down, !mid) -> !slots_
  %m = tpsp.combine %choice, %weight, %v {expert = "e", slot = "c", choice = "k"} : (!choice, !weight, !slots_) -> !x_
  %z = tpsp.add %x, %m : (!x, !x_) -> !x
"""
    weights = [("gain0", "gain"), ("gate", "gate"), ("up", "up"), ("down", "down")]
    return program(mesh, types, layer, weights, places)
