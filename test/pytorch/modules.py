"""Small modules, as people write them, for compare-import.py.

MODULES has a function for each, which returns a module and its inputs. A module
returns an output and a loss.
"""
import torch
from torch import nn
from torch.nn import functional as F


class Trained(nn.Module):
    """The output of a network, and the loss that `loss` makes of it."""

    def __init__(self, network, loss):
        super().__init__()
        self.network, self.loss = network, loss

    def forward(self, labels, **inputs):
        out = self.network(**inputs)
        return out, self.loss(out, labels)


def classes(out, labels):
    return F.cross_entropy(out.flatten(0, -2), labels.flatten())


def classifier(network, classes_, **inputs):
    batch = next(iter(inputs.values())).shape[0]
    return Trained(network, classes), {**inputs, "labels": torch.randint(0, classes_, (batch,))}


def regression(network, shape, **inputs):
    return Trained(network, F.mse_loss), {**inputs, "labels": torch.randn(shape)}


def words(network, count, batch=2, length=8):
    ids = torch.randint(0, count, (batch, length))
    return Trained(network, classes), {"ids": ids, "labels": torch.randint(0, count, (batch, length))}


class Mixer(nn.Module):
    def __init__(self, width=16, patches=16):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(patches, 24), nn.GELU(), nn.Linear(24, patches))
        self.channels = nn.Sequential(nn.Linear(width, 40), nn.GELU(), nn.Linear(40, width))
        self.head = nn.Linear(width, 6)

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norm2(x))
        return self.head(x.mean(1))


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1 = nn.Conv2d(3, width, 3, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.middle = nn.Sequential(nn.GroupNorm(2, 2 * width), nn.SiLU(), nn.Conv2d(2 * width, 2 * width, 3, padding=1))
        self.up = nn.Conv2d(3 * width, 3, 3, padding=1)

    def forward(self, image):
        high = F.silu(self.down1(image))
        low = self.middle(F.silu(self.down2(high)))
        low = low.repeat_interleave(2, 2).repeat_interleave(2, 3)
        return self.up(torch.cat([high, low], 1))


class Block(nn.Module):
    """A layer of a GPT, as tutorials write it."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (part.view(b, s, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        mask = torch.ones(s, s, dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, s, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, count=20, width=16, layers=3, tied=False):
        super().__init__()
        self.words, self.places = nn.Embedding(count, width), nn.Embedding(12, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, count, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Detection(nn.Module):
    """Learned queries that attend to positions of an image."""

    def __init__(self, width=16, queries=6):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.queries = nn.Parameter(torch.randn(queries, width))
        self.own = nn.MultiheadAttention(width, 4, batch_first=True)
        self.cross = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm1, self.norm2, self.box = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, 4)

    def forward(self, image):
        memory = self.patch(image).flatten(2).transpose(1, 2)
        x = self.queries.expand(image.shape[0], -1, -1)
        x = self.norm1(x + self.own(x, x, x, need_weights=False)[0])
        x = self.norm2(x + self.cross(x, memory, memory, need_weights=False)[0])
        return self.box(x).sigmoid()


class Dlrm(nn.Module):
    def __init__(self, tables=3, count=10, width=8):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(count, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + (tables + 1) ** 2, 12), nn.ReLU(), nn.Linear(12, 1))

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        all_ = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.einsum("bid,bjd->bij", all_, all_).flatten(1)
        return self.top(torch.cat([x, products], 1))


class DiffusionBlock(nn.Module):
    """Attention and MLP whose norms a condition scales and shifts."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.condition = nn.Linear(width, 6 * width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.GELU("tanh"), nn.Linear(32, width))

    def forward(self, x, time):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(F.silu(time))[:, None].chunk(6, -1)
        b, s, d = x.shape
        y = self.norm(x) * (1 + scale1) + shift1
        q, k, v = self.qkv(y).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + gate1 * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, d))
        return x + gate2 * self.mlp(self.norm(x) * (1 + scale2) + shift2)


class LoraLinear(nn.Module):
    def __init__(self, inner, outer, rank=2):
        super().__init__()
        self.base = nn.Linear(inner, outer)
        self.base.requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(rank, inner)), nn.Parameter(torch.randn(outer, rank))

    def forward(self, x):
        return self.base(x) + 0.5 * (x @ self.a.T @ self.b.T)


class Experts(nn.Module):
    """Every expert computes every token, and a softmax of the two best weights them."""

    def __init__(self, width=8, experts=4, hidden=12):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.up, self.down = (nn.Parameter(torch.randn(experts, width, hidden)), nn.Parameter(torch.randn(experts, hidden, width)))

    def forward(self, x):
        weights = self.router(x).softmax(-1)
        hidden = F.silu(torch.einsum("bsd,edh->bseh", x, self.up))
        return torch.einsum("bse,bsed->bsd", weights, torch.einsum("bseh,ehd->bsed", hidden, self.down))


class StateSpace(nn.Module):
    """A diagonal recurrence, as a sum over earlier positions."""

    def __init__(self, width=6, length=10):
        super().__init__()
        self.decay, self.skip = nn.Parameter(torch.rand(width)), nn.Parameter(torch.randn(width))
        self.length = length

    def forward(self, x):
        at = torch.arange(self.length, dtype=torch.float32)
        powers = torch.exp(-F.softplus(self.decay)[:, None, None] * (at[:, None] - at[None, :]).clamp(min=0))
        return torch.einsum("dst,btd->bsd", powers * torch.ones(self.length, self.length).tril(), x) + self.skip * x


class Convolutions(nn.Module):
    """A block of a ResNet in evaluation mode, with pooling and a depthwise convolution."""

    def __init__(self, width=8):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(width)
        self.depth, self.point = nn.Conv2d(width, width, 3, padding=1, groups=width), nn.Conv2d(width, width, 1)
        self.head = nn.Linear(width, 6)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.norm(self.stem(image))), 2)
        x = F.avg_pool2d(x + self.point(self.depth(x)), 2)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class BatchNorm(nn.Module):
    """A block of a ResNet in training mode."""

    def __init__(self, width=6):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.inner, self.inner_norm = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width, momentum=0.3)
        self.head = nn.Linear(width, 4)

    def forward(self, image):
        x = F.relu(self.norm(self.conv(image)))
        x = F.relu(x + self.inner_norm(self.inner(x)))
        return self.head(x.mean((2, 3)))


def statistics(module):
    """The running statistics of batch norms after a step, by the names of a program's results."""
    return {"new_" + name.replace(".", "_"): buffer.detach().clone()
            for path, owner in module.named_modules() if owner.training
            for name, buffer in owner.named_buffers(path, recurse=False) if "running_" in name}


def image(size=16):
    return torch.randn(2, 3, size, size)


class Distilled(nn.Module):
    """The teacher runs without gradient, on features that have one."""

    def __init__(self, width=12):
        super().__init__()
        self.student, self.teacher, self.head = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 5)

    def forward(self, x):
        x = self.student(x)
        with torch.no_grad():
            wanted = torch.tanh(self.teacher(x))
            x = x.float()  # It is the same tensor, and keeps its gradient.
        return self.head(x * wanted + wanted)


class Oddities(nn.Module):
    """Norms with the batch's statistics, padded pooling, softmax of one position, expm1."""

    def __init__(self, width=6):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.InstanceNorm2d(width, affine=True)
        self.batch = nn.BatchNorm2d(width, track_running_stats=False)
        self.out, self.inside = nn.AvgPool2d(3, 2, padding=1), nn.AvgPool2d(3, 2, padding=1, count_include_pad=False)
        self.head = nn.Linear(width, 4)

    def forward(self, image):
        x = self.batch(self.norm(self.conv(image)))
        x = self.out(x) + self.inside(x)
        x = x * torch.softmax(x.mean((2, 3), keepdim=True), -1) + torch.expm1(3 * x) + torch.expm1(0.01 * x)
        return self.head(x.mean((2, 3)))


class Activations(nn.Module):
    """Functions of one number that are written as several operations."""

    def __init__(self, width=6):
        super().__init__()
        self.first, self.head = nn.Linear(width, width), nn.Linear(width, 3)
        self.slopes, self.slope = nn.PReLU(width, 0.1), nn.PReLU()

    def forward(self, x):
        y = 3 * self.first(x)
        parts = [F.elu(y, 0.7), F.celu(y, 0.5), F.selu(y), F.hardsigmoid(y), F.hardswish(y), F.relu6(2 * y), F.logsigmoid(y),
                 F.mish(y), self.slopes(y), self.slope(y), torch.exp2(0.3 * y), torch.log2(1 + y * y), torch.log10(2 + y * y),
                 torch.acos(0.99 * torch.tanh(y)) + torch.asin(torch.sin(y))]
        z = sum(parts) + torch.cat([F.glu(y), F.glu(y.flip(-1))], -1)
        return self.head(torch.clamp(z, min=torch.full_like(z, -2.0), max=y.abs().sum(0)))


class Orders(nn.Module):
    """Positions in another order, norms, maxima and products along dimensions."""

    def __init__(self, width=4):
        super().__init__()
        self.first, self.head = nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, x):
        y = self.first(x)
        y = y + torch.roll(y, (1, -2), (1, 2)) * y.flip(1, 2)
        y = y / (1 + torch.linalg.vector_norm(y, 1, 1, keepdim=True) + torch.linalg.vector_norm(y, dim=(1, 2), keepdim=True)
                 + torch.linalg.vector_norm(y, float("inf"), -1, keepdim=True))
        y = y * y.amax(1, keepdim=True) + y[:, :3].prod(1, keepdim=True) + y.max()
        long = 1 + 0.1 * y.flatten(1).tanh().repeat(1, 5)
        y = y + long.prod(1)[:, None, None] + long.cumprod(1)[:, 77:78, None]
        rows, columns = torch.tril_indices(3, 3, -1)
        hot = F.one_hot(y.argmax(-1), 4).float()
        return self.head(y + hot + (y @ y.transpose(1, 2))[:, rows, columns].sum(-1)[:, None, None])


class Transforms(nn.Module):
    """Fourier transforms of all kinds, and bicubic interpolation."""

    def __init__(self, width=4):
        super().__init__()
        self.first, self.head = nn.Linear(width, width), nn.Linear(width, width)
        self.filter = nn.Parameter(torch.randn(6, 3, 2))

    def forward(self, x):
        y = self.first(x)
        mixed = torch.fft.fftn(y, dim=(1, 2)).real + torch.fft.fft2(y, norm="ortho").imag
        filtered = torch.fft.irfft2(torch.fft.rfft2(y) * torch.view_as_complex(self.filter), s=(6, 4))
        short, long = torch.fft.rfft(y, n=3, dim=1, norm="forward"), torch.fft.irfft(torch.fft.rfft(y, n=9, dim=1), n=9, dim=1)
        back = torch.fft.ifft(torch.fft.fft(y, dim=1) + torch.fft.ifftn(y), n=6, dim=1, norm="ortho")
        odd = torch.fft.irfft(torch.fft.fft(y), n=5)[..., :4]
        image = F.interpolate(F.interpolate(y[:, None], size=(9, 5), mode="bicubic"), size=(6, 4), mode="bicubic", align_corners=True)
        return self.head(mixed + filtered + long[:, :6] + back.real * back.imag + odd + image[:, 0]
                         + (short.real - short.imag).sum(1, keepdim=True))


class Enlarged(nn.Module):
    """Images that grow: transposed convolutions and interpolation."""

    def __init__(self, width=4):
        super().__init__()
        self.patches = nn.ConvTranspose2d(3, width, 2, stride=2)
        self.windows = nn.ConvTranspose2d(width, width, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.dense = nn.ConvTranspose2d(width, width, (3, 2), dilation=(2, 1), bias=False)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, image):
        x = self.dense(torch.tanh(self.windows(torch.tanh(self.patches(image)))))
        x = F.interpolate(F.avg_pool2d(x, (3, 9)), (8, 8)) + F.interpolate(x, (8, 8), mode="bilinear")
        return self.head(x + F.interpolate(x[:, :, :3, :3], (8, 8), mode="bilinear", align_corners=True))


class ManyLosses(nn.Module):
    """Losses of numbers; the targets are made of the labels."""

    def forward(self, out, labels):
        share, weight = torch.sigmoid(labels), 1 + labels * labels
        return (F.l1_loss(out, labels) + F.smooth_l1_loss(out, labels, beta=0.3) + F.huber_loss(out, labels, delta=0.4)
                + F.binary_cross_entropy_with_logits(out, share, weight=weight, pos_weight=torch.tensor([0.5, 2.0, 1.5]))
                + F.binary_cross_entropy(torch.sigmoid(out), share, reduction="sum"))


class Recurrent(nn.Module):
    """Layers and cells with a state."""

    def __init__(self, width=4):
        super().__init__()
        self.long = nn.LSTM(3, width, num_layers=2, bidirectional=True, batch_first=True)
        self.gated = nn.GRU(2 * width, width)
        self.plain = nn.RNN(width, width, nonlinearity="relu", bias=False)
        self.cells = nn.ModuleList([nn.LSTMCell(width, width), nn.GRUCell(width, width), nn.RNNCell(width, width)])
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        long, (state, _) = self.long(x)
        gated, _ = self.gated(long.transpose(0, 1))
        plain, last = self.plain(gated)
        long, gated, small = self.cells
        h, c = long(plain[-1], (state[0], state[3]))
        h = small(c, gated(h, last[0]))
        return self.head(h)


class ComplexRotations(nn.Module):
    """Attention whose rotations are products of complex numbers."""

    def __init__(self, width=16, heads=2, longest=12):
        super().__init__()
        self.shape = (heads, width // heads)
        self.q, self.k, self.v, self.o = [nn.Linear(width, width, bias=False) for _ in range(4)]
        frequencies = 100 ** -(torch.arange(0, self.shape[1], 2) / self.shape[1])
        angles = torch.outer(torch.arange(longest), frequencies)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)
        self.gain = nn.Parameter(1 + torch.rand(self.shape[1] // 2))

    def rotated(self, x, turns):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        turns = turns[: x.shape[1]].unsqueeze(-2)
        return torch.view_as_real(pairs * (turns * 1.5) * self.gain).flatten(-2).type_as(x)

    def forward(self, x):
        q, k, v = [part(x).unflatten(-1, self.shape) for part in (self.q, self.k, self.v)]
        q, k = self.rotated(q, self.turns), self.rotated(k, (self.turns * self.turns).conj())
        out = F.scaled_dot_product_attention(*[part.transpose(1, 2) for part in (q, k, v)], is_causal=True)
        return self.o(out.transpose(1, 2).flatten(-2))


class Bags(nn.Module):
    """Sums of looked-up rows, rows that are added, and times that are integers."""

    def __init__(self, width=4):
        super().__init__()
        self.sums, self.means, self.largest = [nn.EmbeddingBag(7, width, mode=mode) for mode in ("sum", "mean", "max")]
        self.weights, self.first, self.head = nn.Linear(2 * width, 3), nn.Linear(2 * width, width), nn.Linear(width, 5)
        self.register_buffer("places", torch.tensor([2, 0, 2]))

    def forward(self, ids, times):
        angles = times[:, None].float() * torch.exp(-torch.arange(4.0))
        embedded = torch.cat([angles.cos(), angles.sin()], -1)
        rows = self.sums(ids, per_sample_weights=self.weights(embedded)) + self.means(ids) * self.largest(ids)
        x = torch.index_add(self.first(embedded), 1, self.places, rows[:, :3], alpha=0.5)
        return self.head(x.index_add(0, torch.arange(x.shape[0]), rows))


class WeighedLosses(nn.Module):
    """Labels that count by their class, and smoothed labels; some do not count."""

    def __init__(self, count):
        super().__init__()
        self.register_buffer("weight", 0.5 + torch.arange(count) / count)

    def forward(self, out, labels):
        each = F.cross_entropy(out, labels, weight=self.weight, label_smoothing=0.2, reduction="none")
        return (F.cross_entropy(out, labels, weight=self.weight) + F.cross_entropy(out, labels, label_smoothing=0.1)
                + F.cross_entropy(out, labels, weight=self.weight, label_smoothing=0.3)
                + F.cross_entropy(out, labels, weight=self.weight, reduction="sum") + (each * each).sum())


class Shared(nn.Module):
    """The first layer is also the third, and a buffer follows the features' mean."""

    def __init__(self, width=6):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width)) for _ in range(2)])
        self.layers.append(self.layers[0])
        self.register_buffer("center", torch.zeros(width))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        with torch.no_grad():
            self.center.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.head(x - self.center)


class Statistics(nn.Module):
    """Variances, products of all before, logarithms, signs, and pixels that become channels and back."""

    def __init__(self, width=5, classes=4):
        super().__init__()
        self.first, self.head = nn.Linear(width, 4 * width), nn.Linear(width, classes)
        self.register_buffer("weights", torch.tensor([0.5, 2.0, 1.0, 1.5]))

    def forward(self, x, labels):
        low, mean = torch.var_mean(x, dim=(1, 2), unbiased=False, keepdim=True)
        x = (x - mean) / (low + 0.1) + x.std(-1, keepdim=True) * x.var(1, unbiased=False, keepdim=True)
        y = F.pixel_shuffle(self.first(x).unflatten(-1, (4, -1)).transpose(1, 2), 2)
        y = F.pixel_unshuffle(y * torch.linspace(0, 1, y.shape[-1]), 2)
        y = (y * torch.tensor([1.0, 2.0, 0.5, -1.0])[:, None, None]).sum(1)
        y = y.sigmoid().cumprod(-1) + torch.log1p(y.square()) * torch.sign(y) * torch.linspace(-1, 2, y.shape[-1])
        logs = F.log_softmax(self.head(y), -1)
        losses = F.nll_loss(logs[1], labels[1], self.weights, ignore_index=2)
        losses = losses + F.nll_loss(logs.transpose(1, 2), labels, reduction="sum") / 10
        one_hot = torch.tensor([0.0, 0.25, 0.25, 0.5])
        return logs, losses + F.kl_div(logs, one_hot.expand_as(logs), reduction="batchmean") + F.kl_div(logs, logs.detach().flip(-1), log_target=True)


class Turn(nn.Module):
    """A layer of one of two kinds."""

    def __init__(self, width, sums):
        super().__init__()
        self.linear, self.sums = nn.Linear(width, width), sums

    def forward(self, x):
        y = self.linear(x)
        return x + (F.silu(y).cumsum(-1) if self.sums else torch.tanh(y))


class Alternating(nn.Module):
    """Layers of two kinds that take turns, and one more of the first kind."""

    def __init__(self, width=6, count=5):
        super().__init__()
        self.layers = nn.ModuleList([Turn(width, number % 2 == 1) for number in range(count)])
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Narrow(nn.Module):
    """Parameters in bf16, and a norm in f32."""

    def __init__(self, width=8):
        super().__init__()
        self.first, self.head = nn.Linear(width, width), nn.Linear(width, 3)
        self.to(torch.bfloat16)

    def forward(self, x):
        y = self.first(x.bfloat16()).float()
        return self.head((y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).bfloat16()).float()


def bags():
    network = Trained(Bags(), WeighedLosses(5))
    return network, {"ids": torch.randint(0, 7, (6, 3)), "times": torch.tensor([0, 999, 3, 17, 40, 5]),
                     "labels": torch.tensor([1, -100, 4, 0, 2, 2])}


MODULES = {
    "recurrent": lambda: regression(Recurrent(), (3, 2), x=torch.randn(3, 5, 3)),
    "rotations": lambda: regression(ComplexRotations(), (2, 6, 16), x=torch.randn(2, 6, 16)),
    "bags": bags,
    "shared": lambda: regression(Shared(), (4, 2), x=torch.randn(4, 6)),
    "alternating": lambda: regression(Alternating(), (4, 2), x=torch.randn(4, 6)),
    "statistics": lambda: (Statistics(), {"x": torch.randn(2, 6, 5), "labels": torch.tensor([[0, 1, 2, 3, -100, 1], [3, 2, 2, 0, 1, 0]])}),
    "narrow": lambda: regression(Narrow(), (4, 3), x=torch.randn(4, 8)),
    "activations": lambda: (Trained(Activations(), ManyLosses()), {"x": torch.randn(5, 6), "labels": torch.randn(5, 3)}),
    "transforms": lambda: regression(Transforms(), (2, 6, 4), x=torch.randn(2, 6, 4)),
    "orders": lambda: regression(Orders(), (2, 5, 3), x=torch.randn(2, 5, 4)),
    "enlarged": lambda: regression(Enlarged(), (2, 2, 8, 8), image=image(2)),
    "oddities": lambda: classifier(Oddities(), 4, image=image(8)),
    "batch-norm": lambda: classifier(BatchNorm(), 4, image=image(8)),
    "distilled": lambda: regression(Distilled(), (4, 5), x=torch.randn(4, 12)),
    "mixer": lambda: classifier(Mixer(), 6, image=image()),
    "unet": lambda: regression(UNet(), (2, 3, 8, 8), image=image(8)),
    "gpt": lambda: words(Gpt(), 20),
    "gpt-tied": lambda: words(Gpt(tied=True), 20),
    "detection": lambda: regression(Detection(), (2, 6, 4), image=image()),
    "dlrm": lambda: regression(Dlrm(), (4, 1), dense=torch.randn(4, 5), sparse=torch.randint(0, 10, (4, 3))),
    "diffusion": lambda: regression(DiffusionBlock(), (2, 6, 16), x=torch.randn(2, 6, 16), time=torch.randn(2, 16)),
    "lora": lambda: regression(nn.Sequential(LoraLinear(6, 8), nn.Tanh(), LoraLinear(8, 4)), (4, 4), input=torch.randn(4, 6)),
    "experts": lambda: regression(Experts(), (2, 6, 8), x=torch.randn(2, 6, 8)),
    "state-space": lambda: regression(StateSpace(), (2, 10, 6), x=torch.randn(2, 10, 6)),
    "convolutions": lambda: classifier(Convolutions().eval(), 6, image=image()),
    "encoder": lambda: regression(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), (2, 6, 16),
                                  src=torch.randn(2, 6, 16)),
}
