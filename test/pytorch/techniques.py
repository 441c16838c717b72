"""Modules each of which has something of its own, as windows, scans, graphs, for compare-import.py: see modules.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from modules import Trained, classes, classifier, image, regression, words


class Swin(nn.Module):
    """Windows, shifted ones, and a bias by relative positions."""

    def __init__(self, width=16, window=4, size=8, heads=2):
        super().__init__()
        self.window, self.heads = window, heads
        self.patch = nn.Conv2d(3, width, 2, 2)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(0.1 * torch.randn((2 * window - 1) ** 2, heads))
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        self.merge, self.head = nn.Linear(4 * width, 2 * width, bias=False), nn.Linear(2 * width, 6)
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        relative = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + window - 1
        self.register_buffer("index", relative[..., 0] * (2 * window - 1) + relative[..., 1])
        areas = torch.zeros(size, size)
        for i, rows in enumerate((slice(0, -window), slice(-window, -window // 2), slice(-window // 2, None))):
            for j, columns in enumerate((slice(0, -window), slice(-window, -window // 2), slice(-window // 2, None))):
                areas[rows, columns] = 3 * i + j
        areas = self.split(areas[None, :, :, None]).squeeze(-1)
        self.register_buffer("mask", (areas[:, None] != areas[:, :, None]).float() * -100.0)

    def split(self, x):
        b, h, w, c = x.shape
        x = x.view(b, h // self.window, self.window, w // self.window, self.window, c)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.window ** 2, c)

    def joined(self, x, h, w):
        x = x.view(-1, h // self.window, w // self.window, self.window, self.window, x.shape[-1])
        return x.permute(0, 1, 3, 2, 4, 5).reshape(x.shape[0], h, w, -1)

    def attend(self, x, mask):
        n, s, d = x.shape
        q, k, v = self.qkv(x).reshape(n, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5
        scores = scores + self.table[self.index.view(-1)].view(s, s, -1).permute(2, 0, 1)
        if mask is not None:
            scores = scores.view(-1, mask.shape[0], self.heads, s, s) + mask[:, None]
            scores = scores.view(-1, self.heads, s, s)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, s, d))

    def forward(self, image):
        x = self.patch(image).permute(0, 2, 3, 1)
        h, w = x.shape[1:3]
        x = x + self.joined(self.attend(self.split(self.norm1(x)), None), h, w)
        moved = torch.roll(self.norm1(x), (-self.window // 2, -self.window // 2), dims=(1, 2))
        moved = self.joined(self.attend(self.split(moved), self.mask), h, w)
        x = x + torch.roll(moved, (self.window // 2, self.window // 2), dims=(1, 2))
        x = x + self.mlp(self.norm2(x))
        x = self.merge(torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], dim=-1))
        return self.head(x.mean((1, 2)))


class Autoencoder(nn.Module):
    """A variational one; the noise is an input."""

    def __init__(self, width=12, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten())
        self.mean, self.log_variance = nn.Linear(width * 16, latent), nn.Linear(width * 16, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width * 16), nn.Unflatten(1, (width, 4, 4)), nn.ELU(),
                                     nn.ConvTranspose2d(width, 3, 4, 2, 1))

    def forward(self, image, noise):
        h = self.encoder(image)
        mean, log_variance = self.mean(h), self.log_variance(h)
        out = self.decoder(mean + torch.exp(0.5 * log_variance) * noise)
        kl = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp(), dim=1).mean()
        return out, F.binary_cross_entropy_with_logits(out, image.sigmoid()) + 0.1 * kl


class Wavenet(nn.Module):
    """Dilated causal convolutions with gates."""

    def __init__(self, width=8, count=20):
        super().__init__()
        self.words = nn.Embedding(count, width)
        self.filters = nn.ModuleList([nn.Conv1d(width, width, 2, dilation=2 ** i) for i in range(3)])
        self.gates = nn.ModuleList([nn.Conv1d(width, width, 2, dilation=2 ** i) for i in range(3)])
        self.skips = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(3)])
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(width, count, 1))

    def forward(self, ids):
        x, total = self.words(ids).transpose(1, 2), 0
        for i, (filter_, gate, skip) in enumerate(zip(self.filters, self.gates, self.skips)):
            padded = F.pad(x, (2 ** i, 0))
            y = skip(torch.tanh(filter_(padded)) * torch.sigmoid(gate(padded)))
            x, total = x + y, total + y
        return self.head(total).transpose(1, 2)


class Recurrent(nn.Module):
    """A GRU's cell in a loop over the positions."""

    def __init__(self, count=20, width=8):
        super().__init__()
        self.words, self.cell, self.head = nn.Embedding(count, width), nn.GRUCell(width, width), nn.Linear(width, count)

    def forward(self, ids):
        x = self.words(ids)
        h, out = torch.zeros(x.shape[0], x.shape[2]), []
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
            out.append(h)
        return self.head(torch.stack(out, 1))


class Linear(nn.Module):
    """RetNet's attention: decays in place of a softmax, and a group norm."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.gate = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.out, self.norm = nn.Linear(width, width), nn.GroupNorm(heads, width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (f(x).view(b, s, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        gamma = 1 - 2.0 ** (-5 - torch.arange(self.heads))
        at = torch.arange(s)
        distance = at[:, None] - at[None, :]
        decay = torch.where(distance >= 0, gamma[:, None, None] ** distance.clamp(min=0), 0.0)
        y = ((q @ k.transpose(-1, -2)) * decay) @ v
        y = self.norm(y.transpose(1, 2).reshape(b * s, d)).view(b, s, d)
        return self.out(y * F.silu(self.gate(x)))


class Graph(nn.Module):
    """Graph attention: by a matrix of edges, or by a list of edges."""

    def __init__(self, width=6, hidden=8, edges=False):
        super().__init__()
        self.w, self.a, self.b = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, 1), nn.Linear(hidden, 1)
        self.head, self.edges = nn.Linear(hidden, 4), edges

    def forward(self, x, edges):
        h = self.w(x)
        if self.edges:
            source, target = edges
            messages = h[source] * torch.sigmoid(self.a(h)[source] + self.b(h)[target])
            h = h + torch.zeros_like(h).index_add(0, target, messages)
        else:
            scores = F.leaky_relu(self.a(h) + self.b(h).transpose(-1, -2), 0.2)
            h = scores.masked_fill(edges == 0, -1e9).softmax(dim=-1) @ h
        return self.head(F.elu(h))


class Contrastive(nn.Module):
    """SimCLR's loss over two views of each sample."""

    def __init__(self, width=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 5))

    def forward(self, a, b):
        z = F.normalize(torch.cat([self.net(a), self.net(b)]), dim=1)
        n = a.shape[0]
        scores = (z @ z.T / 0.5).masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
        labels = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
        return z, F.cross_entropy(scores, labels)


class Radiance(nn.Module):
    """A NeRF: features of positions, and colours summed along rays."""

    def __init__(self, bands=3, width=16):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(bands))
        self.body = nn.Sequential(nn.Linear(3 + 6 * bands, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.density, self.color = nn.Linear(width, 1), nn.Sequential(nn.Linear(width, 3), nn.Sigmoid())

    def forward(self, points, depths):
        angles = (points.unsqueeze(-1) * self.bands).flatten(-2)
        h = self.body(torch.cat([points, angles.sin(), angles.cos()], dim=-1))
        steps = torch.cat([depths[:, 1:] - depths[:, :-1], torch.full_like(depths[:, :1], 1e10)], dim=-1)
        alpha = 1 - torch.exp(-F.softplus(self.density(h).squeeze(-1)) * steps)
        left = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        return ((alpha * left).unsqueeze(-1) * self.color(h)).sum(-2)


class Llama(nn.Module):
    """Grouped queries, rotated neighbours, RMS norms, a gated MLP. `how`: complex or real rotations."""

    def __init__(self, count=20, width=16, heads=4, groups=2, how="real"):
        super().__init__()
        self.heads, self.groups, self.how, self.size = heads, groups, how, width // heads
        self.words = nn.Embedding(count, width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.w1, self.w3, self.w2 = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False), nn.Linear(24, width, bias=False)
        self.norm1, self.norm2, self.norm = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width))
        angles = torch.outer(torch.arange(12).float(), 1.0 / 10000 ** (torch.arange(0, self.size, 2).float() / self.size))
        self.register_buffer("angles", angles)

    def rms(self, x, gain):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain

    def rotated(self, x):
        angles = self.angles[:x.shape[1]]
        if self.how == "complex":
            table = torch.polar(torch.ones_like(angles), angles)
            y = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * table[None, :, None]
            return torch.view_as_real(y).flatten(3).type_as(x)
        a, b = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(3)

    def forward(self, ids):
        x = self.words(ids)
        b, s, d = x.shape
        y = self.rms(x, self.norm1)
        q = self.rotated(self.q(y).view(b, s, self.heads, -1))
        k = self.rotated(self.k(y).view(b, s, self.groups, -1))
        v = self.v(y).view(b, s, self.groups, -1)
        k, v = (t.repeat_interleave(self.heads // self.groups, dim=2).transpose(1, 2) for t in (k, v))
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, d))
        y = self.rms(x, self.norm2)
        x = x + self.w2(F.silu(self.w1(y)) * self.w3(y))
        return F.linear(self.rms(x, self.norm), self.words.weight)


class Translation(nn.Module):
    """nn.Transformer, with positions of sines and masks of padding."""

    def __init__(self, count=20, width=16):
        super().__init__()
        self.source, self.target = nn.Embedding(count, width, padding_idx=0), nn.Embedding(count, width, padding_idx=0)
        at, half = torch.arange(12).unsqueeze(1), torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(12, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(at * half), torch.cos(at * half)
        self.register_buffer("table", table)
        self.net = nn.Transformer(width, 4, 2, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, count)

    def forward(self, source, target, labels):
        x = self.source(source) * 4 + self.table[:source.shape[1]]
        y = self.target(target) * 4 + self.table[:target.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        padding = source == 0
        y = self.net(x, y, tgt_mask=mask, tgt_is_causal=True, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        out = self.head(y)
        return out, F.cross_entropy(out.reshape(-1, out.shape[-1]), labels.reshape(-1), ignore_index=0, label_smoothing=0.1)


class ConvNext(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(0.1 * torch.ones(width))
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, 2, 1), nn.Hardswish(), nn.Conv2d(2, width, 1), nn.Hardsigmoid())
        self.head = nn.Linear(width, 6)

    def forward(self, image):
        x = self.stem(image)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = F.gelu(self.up(y))
        gx = torch.norm(y, p=2, dim=(1, 2), keepdim=True)  # The response norm of ConvNeXt V2.
        y = y + y * (gx / (gx.mean(dim=-1, keepdim=True) + 1e-6))
        x = x + (self.gamma * self.down(y)).permute(0, 3, 1, 2)
        x = x * self.squeeze(x)
        return self.head(self.norm2(x.mean([-2, -1])))


class Linformer(nn.Module):
    """Causal linear attention by cumulative sums."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(x).reshape(b, s, 3, self.heads, -1).unbind(2)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        states = torch.cumsum(torch.einsum("bshk,bshv->bshkv", k, v), dim=1)
        norm = torch.einsum("bshk,bshk->bsh", q, k.cumsum(1)).unsqueeze(-1)
        return self.out((torch.einsum("bshk,bshkv->bshv", q, states) / (norm + 1e-6)).reshape(b, s, d))


class Skipgram(nn.Module):
    """Word vectors with negative samples."""

    def __init__(self, count=20, width=8):
        super().__init__()
        self.inner, self.outer = nn.Embedding(count, width), nn.Embedding(count, width)

    def forward(self, words_, context, negative):
        x = self.inner(words_)
        right = (x * self.outer(context)).sum(-1)
        wrong = torch.bmm(self.outer(negative), x.unsqueeze(2)).squeeze(2)
        return right, -(F.logsigmoid(right) + F.logsigmoid(-wrong).sum(1)).mean()


class Perceiver(nn.Module):
    """Latents that attend to bytes, then themselves, several times with the same weights."""

    def __init__(self, count=20, width=16, latents=4):
        super().__init__()
        self.words, self.latents = nn.Embedding(count, width), nn.Parameter(torch.randn(latents, width))
        self.cross = nn.MultiheadAttention(width, 2, batch_first=True, kdim=width, vdim=width)
        self.block = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 4)

    def forward(self, ids):
        data = self.words(ids)
        x = self.latents.unsqueeze(0).repeat(ids.size(0), 1, 1)
        for _ in range(3):
            x = x + self.cross(self.norm(x), data, data)[0]
            x = self.block(x)
        return self.head(x.mean(dim=1))


class Depths(nn.Module):
    """A block that computes a few tokens of each row only: those with the largest scores, in their order."""

    def __init__(self, count=20, width=16, capacity=4):
        super().__init__()
        self.words, self.router, self.capacity = nn.Embedding(count, width), nn.Linear(width, 1), capacity
        self.block = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width))
        self.head = nn.Linear(width, count)

    def forward(self, ids):
        x = self.words(ids)
        scores, chosen = self.router(x).squeeze(-1).topk(self.capacity, dim=1)
        chosen, order = chosen.sort(dim=1)
        places = chosen.unsqueeze(-1).expand(-1, -1, x.shape[-1])
        weights = scores.gather(1, order).sigmoid().unsqueeze(-1)
        return self.head(x.scatter_add(1, places, weights * self.block(x.gather(1, places))))


class Masked(nn.Module):
    """A masked autoencoder: the loss is that of the patches that were left out."""

    def __init__(self, width=16, patches=16, kept=4):
        super().__init__()
        self.patch, self.out, self.kept = nn.Linear(12, width), nn.Linear(width, 12), kept
        self.encoder, self.decoder = (nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True) for _ in range(2))
        self.mask, self.position = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, patches, width))

    def forward(self, image, noise):
        pixels = F.unfold(image, 2, stride=2).transpose(1, 2)
        x = self.patch(pixels) + self.position
        shuffle = noise.argsort(dim=1)
        restore, kept = shuffle.argsort(dim=1), shuffle[:, : self.kept]
        wide = lambda places: places[:, :, None].expand(-1, -1, x.shape[-1])
        seen = self.encoder(x.gather(1, wide(kept)))
        rest = self.mask.expand(x.shape[0], x.shape[1] - self.kept, -1)
        out = self.out(self.decoder(torch.cat([seen, rest], 1).gather(1, wide(restore)) + self.position))
        mask = torch.ones_like(noise).scatter(1, kept, 0.0)
        return out, (((out - pixels) ** 2).mean(-1) * mask).sum() / mask.sum()


class Sorts(nn.Module):
    """Sorts, the best of integers, sums and elements at places that are computed, and patches that overlap."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.table = nn.Linear(6, 8), nn.Linear(8, 8), nn.Embedding(10, 6)

    def forward(self, x, ids, places):
        h = self.a(x + self.table(ids).mean(1, keepdim=True))
        (up, at), down = h.sort(dim=1), h.sort(dim=-1, descending=True).values
        last = self.table(ids).gather(1, ids.argmax(1)[:, None, None].expand(-1, 1, 6)).squeeze(1)
        small, where = h.topk(2, dim=-1, largest=False)
        y = up * torch.linspace(1, 2, 5)[:, None] + down * torch.linspace(-1, 1, 8) + 0.1 * at
        z = torch.zeros_like(h).scatter_add(2, where, small)
        seen = torch.zeros(x.shape[:2]).scatter(1, ids.argsort(dim=1)[:, :2], 1.0)
        added = torch.zeros(6, 6).index_add(0, places, last, alpha=0.5)
        rows = lambda base, k, how, own: base.new_full((x.shape[0], 4), base).scatter_reduce(
            1, at[:, :, k].clamp(max=3), h[:, :, k], reduce=how, include_self=own)
        zero, one = torch.tensor(0.0), torch.tensor(1.0)
        means = (rows(zero, 0, "mean", False) * torch.arange(4.0)).sum(1) + (rows(one, 1, "sum", True) * rows(one, 2, "mean", True)).sum(1)
        row = torch.arange(x.shape[0])
        picked = h[row, ids.argmax(1)] + h[row, (ids > 4).sum(1) - 1] + h[row[:, None], h[:, :, 0].topk(2, dim=1).indices].sum(1)
        slid = F.unfold(h[:, None], (3, 1), padding=(1, 0)).tanh().mean((1, 2))
        return self.b(y + z) * seen[:, :, None] + (means + picked.sum(1) + slid)[:, None, None] + added.sum()


def integers(*shape, low=0, high=20):
    return torch.randint(low, high, shape)


def padded_words():
    source = integers(2, 8, low=1)
    source[1, 5:] = 0
    target, labels = integers(2, 6, low=1), integers(2, 6, low=1)
    labels[0, 4:] = 0
    return {"source": source, "target": target, "labels": labels}


TECHNIQUES = {
    "swin": lambda: classifier(Swin(), 6, image=image()),
    "autoencoder": lambda: (Autoencoder(), {"image": image(8), "noise": torch.randn(2, 4)}),
    "wavenet": lambda: words(Wavenet(), 20),
    "recurrent-words": lambda: words(Recurrent(), 20),
    "retnet": lambda: regression(Linear(), (2, 6, 16), x=torch.randn(2, 6, 16)),
    "graph": lambda: (Trained(Graph(), classes), {"x": torch.randn(2, 7, 6), "edges": (torch.rand(2, 7, 7) + torch.eye(7) > 0.5).float(),
        "labels": integers(2, 7, high=4)}),
    "graph-edges": lambda: (Trained(Graph(edges=True), classes), {"x": torch.randn(7, 6), "edges": integers(2, 15, high=7),
        "labels": integers(7, high=4)}),
    "contrastive": lambda: (Contrastive(), {"a": torch.randn(4, 6), "b": torch.randn(4, 6)}),
    "radiance": lambda: regression(Radiance(), (4, 3), points=torch.randn(4, 6, 3), depths=torch.rand(4, 6).cumsum(1)),
    "llama": lambda: words(Llama(), 20),
    "llama-complex": lambda: words(Llama(how="complex"), 20),
    "translation": lambda: (Translation(), padded_words()),
    "convnext": lambda: classifier(ConvNext(), 6, image=image(32)),
    "linear-attention": lambda: regression(Linformer(), (2, 6, 16), x=torch.randn(2, 6, 16)),
    "skipgram": lambda: (Skipgram(), {"words_": integers(4), "context": integers(4), "negative": integers(4, 3)}),
    "depths": lambda: words(Depths(), 20),
    "masked": lambda: (Masked(), {"image": torch.randn(2, 3, 8, 8), "noise": torch.rand(2, 16)}),
    "sorts": lambda: regression(Sorts(), (4, 5, 8), x=torch.randn(4, 5, 6), ids=integers(4, 4, high=10), places=torch.tensor([2, 0, 2, 5])),
    "perceiver": lambda: (Trained(Perceiver(), F.cross_entropy), {"ids": integers(4, 9), "labels": integers(4, high=4)}),
}
