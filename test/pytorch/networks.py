"""Networks in the form that their papers give, for compare-import.py: see modules.py."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from modules import Block, DiffusionBlock, Gpt, Trained, classifier, image, regression, words


class ResidualBlock(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.shortcut = nn.Sequential()
        if stride != 1 or inner != outer:
            self.shortcut = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    """Trained: batch norms use and update statistics."""

    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, padding=3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(3, 2, padding=1))
        self.layer1 = nn.Sequential(ResidualBlock(width, width, 1), ResidualBlock(width, width, 1))
        self.layer2 = nn.Sequential(ResidualBlock(width, 2 * width, 2), ResidualBlock(2 * width, 2 * width, 1))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(2 * width, 6)

    def forward(self, image):
        x = self.layer2(self.layer1(self.stem(image)))
        return self.head(torch.flatten(self.pool(x), 1))


def double_conv(inner, outer):
    return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(inplace=True),
                         nn.Conv2d(outer, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(inplace=True))


class Segmentation(nn.Module):
    """A U-Net of two levels. `transposed`: it goes up by transposed convolutions."""

    def __init__(self, width=4, transposed=True):
        super().__init__()
        self.enc1, self.enc2 = double_conv(3, width), double_conv(width, 2 * width)
        self.middle = double_conv(2 * width, 4 * width)
        if transposed:
            self.up2, self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)
        else:
            self.up2 = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(4 * width, 2 * width, 1))
            self.up1 = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(2 * width, width, 1))
        self.dec2, self.dec1 = double_conv(4 * width, 2 * width), double_conv(2 * width, width)
        self.head = nn.Conv2d(width, 6, 1)

    def forward(self, image):
        a = self.enc1(image)
        b = self.enc2(F.max_pool2d(a, 2))
        x = self.middle(F.max_pool2d(b, 2))
        x = self.dec2(torch.cat([b, self.up2(x)], dim=1))
        x = self.dec1(torch.cat([a, self.up1(x)], dim=1))
        return self.head(x)


class S4d(nn.Module):
    """A diagonal state space of complex numbers, written in real ones; its kernel is a causal convolution."""

    def __init__(self, width=6, state=4, layers=2, fft=False, complex_=False):
        super().__init__()
        self.log_dt = nn.Parameter(torch.rand(width) * 2 - 3)
        self.c = nn.Parameter(torch.randn(width, state, 2))
        self.log_a = nn.Parameter(torch.log(0.5 * torch.ones(width, state)))
        self.a_imag = nn.Parameter(math.pi * torch.arange(state).repeat(width, 1).float())
        self.d = nn.Parameter(torch.randn(width))
        self.out = nn.Conv1d(width, 2 * width, 1)
        self.norm = nn.LayerNorm(width)
        self.fft, self.complex_ = fft, complex_

    def kernel(self, length):
        dt = torch.exp(self.log_dt)[:, None]
        if self.complex_:
            c = torch.view_as_complex(self.c)
            a = -torch.exp(self.log_a) + 1j * self.a_imag
            dta = a * dt
            k = dta[:, :, None] * torch.arange(length)
            c = c * (torch.exp(dta) - 1.0) / a
            return 2 * torch.einsum("hn,hnl->hl", c, torch.exp(k)).real
        re, im = -torch.exp(self.log_a) * dt, self.a_imag * dt
        at = torch.arange(length)
        decay = torch.exp(re[:, :, None] * at)
        angle = im[:, :, None] * at
        return 2 * (torch.einsum("hn,hnl->hl", self.c[..., 0], decay * angle.cos())
                    - torch.einsum("hn,hnl->hl", self.c[..., 1], decay * angle.sin()))

    def forward(self, x):
        u = self.norm(x).transpose(1, 2)
        length = u.shape[-1]
        k = self.kernel(length)
        if self.fft:
            y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * torch.fft.rfft(k, n=2 * length), n=2 * length)[..., :length]
        else:
            y = F.conv1d(F.pad(u, (length - 1, 0)), k.flip(-1).unsqueeze(1), groups=u.shape[1])
        y = F.gelu(y + u * self.d[:, None])
        return x + F.glu(self.out(y), dim=1).transpose(1, 2)


class Mamba(nn.Module):
    """Mamba's first block, with its scan as a loop."""

    def __init__(self, width=8, state=4, rank=2, kernel=3):
        super().__init__()
        inner = 2 * width
        self.state, self.rank = state, rank
        self.in_proj = nn.Linear(width, 2 * inner, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, kernel, groups=inner, padding=kernel - 1)
        self.x_proj = nn.Linear(inner, rank + 2 * state, bias=False)
        self.dt_proj = nn.Linear(rank, inner)
        self.a_log = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(inner, 1))
        self.d = nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, width, bias=False)
        self.norm = nn.RMSNorm(width)

    def forward(self, x):
        residual, length = x, x.shape[1]
        x, z = self.in_proj(self.norm(x)).chunk(2, dim=-1)
        x = F.silu(self.conv1d(x.transpose(1, 2))[..., :length].transpose(1, 2))
        dt, b, c = self.x_proj(x).split([self.rank, self.state, self.state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        a = -torch.exp(self.a_log)
        h = x.new_zeros(x.shape[0], x.shape[2], self.state)
        ys = []
        for t in range(length):
            h = torch.exp(dt[:, t, :, None] * a) * h + dt[:, t, :, None] * b[:, t, None, :] * x[:, t, :, None]
            ys.append(torch.einsum("bdn,bn->bd", h, c[:, t]))
        y = torch.stack(ys, dim=1) + x * self.d
        return residual + self.out_proj(y * F.silu(z))


class Vit(nn.Module):
    def __init__(self, width=16, heads=4, layers=2, patch=4, size=16, count=6):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(0.1 * torch.randn(1, (size // patch) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, count)

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.encoder(x)[:, 0])


class TextTower(nn.Module):
    def __init__(self, count=20, width=16, length=8, outer=12, pooling="argmax"):
        super().__init__()
        self.words = nn.Embedding(count, width)
        self.positions = nn.Parameter(0.1 * torch.randn(length, width))
        self.blocks = nn.Sequential(*[Block(width) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.projection = nn.Parameter(torch.randn(width, outer) / 4)
        self.pooling = pooling

    def forward(self, ids):
        x = self.norm(self.blocks(self.words(ids) + self.positions))
        if self.pooling == "argmax":  # OpenAI's: the end of the text has the largest number.
            x = x[torch.arange(x.shape[0]), ids.argmax(dim=-1)]
        elif self.pooling == "eos":
            x = (x * (ids == 19).float().unsqueeze(-1)).sum(1)
        else:
            x = x[:, -1]
        return x @ self.projection


class Clip(nn.Module):
    """Both towers and the loss between all pairs. Returns what is similar, and the loss."""

    def __init__(self, pooling="last"):
        super().__init__()
        self.visual, self.text = Vit(count=12), TextTower(pooling=pooling)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, ids):
        a = F.normalize(self.visual(image), dim=-1)
        b = F.normalize(self.text(ids), dim=-1)
        logits = self.logit_scale.exp() * a @ b.t()
        labels = torch.arange(logits.shape[0], device=logits.device)
        return logits, (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


class DecoderLayer(nn.Module):
    def __init__(self, width=16, heads=4):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(width, 32), nn.Linear(32, width)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, memory, positions, queries):
        q = k = x + queries
        x = self.norm1(x + self.self_attn(q, k, x)[0])
        x = self.norm2(x + self.cross_attn(x + queries, memory + positions, memory)[0])
        return self.norm3(x + self.linear2(F.relu(self.linear1(x))))


class Detr(nn.Module):
    """Boxes and classes of learned queries; the loss has the matching as an input."""

    def __init__(self, width=16, queries=5, count=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, width, 3, 2, 1))
        self.row, self.column = nn.Parameter(torch.rand(8, width // 2)), nn.Parameter(torch.rand(8, width // 2))
        self.queries = nn.Embedding(queries, width)
        self.encoder = nn.TransformerEncoderLayer(width, 4, 32, dropout=0.0, batch_first=True)
        self.decoder = nn.ModuleList([DecoderLayer(width) for _ in range(2)])
        self.classes, self.boxes = nn.Linear(width, count + 1), nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, image, labels, boxes):
        x = self.backbone(image)
        h, w = x.shape[-2:]
        positions = torch.cat([self.column[:w].unsqueeze(0).repeat(h, 1, 1), self.row[:h].unsqueeze(1).repeat(1, w, 1)], dim=-1)
        positions = positions.flatten(0, 1).unsqueeze(0)
        memory = self.encoder(x.flatten(2).permute(0, 2, 1) + positions)
        queries = self.queries.weight.unsqueeze(0).repeat(image.shape[0], 1, 1)
        x = torch.zeros_like(queries)
        for layer in self.decoder:
            x = layer(x, memory, positions, queries)
        logits, found = self.classes(x), self.boxes(x).sigmoid()
        weights = torch.ones(logits.shape[-1])
        weights[-1] = 0.1  # "No object" is frequent.
        loss = F.cross_entropy(logits.transpose(1, 2), labels, weights)
        return logits, loss + 5 * F.l1_loss(found, boxes) + 2 * (1 - overlap(found, boxes)).mean()


def overlap(a, b):
    """The generalised intersection over union of boxes of centres and sizes."""
    corners = lambda x: (x[..., :2] - x[..., 2:] / 2, x[..., :2] + x[..., 2:] / 2)
    (a1, a2), (b1, b2) = corners(a), corners(b)
    inter = (torch.min(a2, b2) - torch.max(a1, b1)).clamp(min=0).prod(-1)
    union = (a2 - a1).prod(-1) + (b2 - b1).prod(-1) - inter
    hull = (torch.max(a2, b2) - torch.min(a1, b1)).clamp(min=0).prod(-1)
    return inter / union - (hull - union) / hull


class Recommender(nn.Module):
    """A DLRM: bags of features, and products of all pairs."""

    def __init__(self, counts=(10, 7, 12), width=8, bags=True):
        super().__init__()
        table = nn.EmbeddingBag if bags else nn.Embedding
        self.tables = nn.ModuleList([table(n, width, mode="sum") if bags else table(n, width) for n in counts])
        self.bottom = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, width), nn.ReLU())
        pairs = (len(counts) + 1) * len(counts) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 12), nn.ReLU(), nn.Linear(12, 1))
        self.bags = bags

    def forward(self, dense, sparse, labels):
        x = self.bottom(dense)
        found = [table(sparse[:, i]) for i, table in enumerate(self.tables)]
        if not self.bags:
            found = [one.sum(1) for one in found]
        rows = torch.stack([x] + found, dim=1)
        products = torch.bmm(rows, rows.transpose(1, 2))
        i, j = torch.tril_indices(rows.shape[1], rows.shape[1], offset=-1)
        out = self.top(torch.cat([x, products[:, i, j]], dim=1)).squeeze(-1)
        return out, F.binary_cross_entropy_with_logits(out, labels)


class Dit(nn.Module):
    """A diffusion transformer, and the loss of the noise that it predicts."""

    def __init__(self, width=16, size=8, patch=2, channels=3, classes_=5, steps=50):
        super().__init__()
        self.patch, self.channels = patch, channels
        self.embed = nn.Conv2d(channels, width, patch, patch)
        self.positions = nn.Parameter(0.1 * torch.randn(1, (size // patch) ** 2, width))
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.label = nn.Embedding(classes_, width)
        self.blocks = nn.ModuleList([DiffusionBlock(width) for _ in range(2)])
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 2 * width))
        self.out = nn.Linear(width, patch * patch * channels)
        self.register_buffer("alphas", torch.cumprod(1 - torch.linspace(1e-3, 0.1, steps), 0))

    def steps(self, t, width):
        half = width // 2
        frequencies = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
        angles = t[:, None].float() * frequencies[None]
        return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)

    def forward(self, image, t, y, noise):
        alpha = self.alphas[t].view(-1, 1, 1, 1)
        x = alpha.sqrt() * image + (1 - alpha).sqrt() * noise
        x = self.embed(x).flatten(2).transpose(1, 2) + self.positions
        c = self.time(self.steps(t, x.shape[-1])) + self.label(y)
        for block in self.blocks:
            x = block(x, c)
        shift, scale = self.modulation(c).chunk(2, dim=1)
        x = self.out(self.norm(x) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1))
        side = int(x.shape[1] ** 0.5)
        x = x.reshape(x.shape[0], side, side, self.patch, self.patch, self.channels)
        x = torch.einsum("nhwpqc->nchpwq", x).reshape(x.shape[0], self.channels, side * self.patch, side * self.patch)
        return x, F.mse_loss(x, noise)


class LowRank(nn.Module):
    """A parametrization that adds a product of low rank."""

    def __init__(self, outer, inner, rank=2):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(rank, inner)), nn.Parameter(0.1 * torch.randn(outer, rank))

    def forward(self, weight):
        return weight + 0.5 * (self.b @ self.a)


def lora_gpt():
    model = Gpt(layers=2)
    model.requires_grad_(False)
    for layer in model.layers:
        for linear in (layer.qkv, layer.out):
            torch.nn.utils.parametrize.register_parametrization(linear, "weight", LowRank(*linear.weight.shape))
    return model


class RoutedExperts(nn.Module):
    """Mixtral's layer as masks: each expert computes all tokens, and a mask says which count."""

    def __init__(self, width=8, experts=4, hidden=12, k=2, how="one_hot"):
        super().__init__()
        self.gate, self.k, self.how = nn.Linear(width, experts, bias=False), k, how
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)) for _ in range(experts)])

    def forward(self, x):
        scores = self.gate(x).softmax(dim=-1)
        weights, chosen = scores.topk(self.k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        if self.how == "one_hot":
            share = (F.one_hot(chosen, len(self.experts)).to(x.dtype) * weights.unsqueeze(-1)).sum(-2)
            for i, expert in enumerate(self.experts):
                out = out + share[..., i, None] * expert(x)
        elif self.how == "equal":
            for i, expert in enumerate(self.experts):
                out += ((chosen == i) * weights).sum(-1, keepdim=True) * expert(x)
        elif self.how == "scatter":
            share = torch.zeros_like(scores).scatter(-1, chosen, weights)
            out = torch.einsum("bse,besd->bsd", share, torch.stack([expert(x) for expert in self.experts], dim=1))
        elif self.how == "threshold":
            kept = scores * (scores >= weights.new_tensor(0) + scores.topk(self.k, dim=-1).values[..., -1:])
            share = kept / kept.sum(-1, keepdim=True)
            out = torch.stack([expert(x) for expert in self.experts], dim=-1).mul(share.unsqueeze(-2)).sum(-1)
        return out


class Balanced(nn.Module):
    """A switch layer with its loss of balance."""

    def __init__(self, width=8, experts=4, hidden=12):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.w1, self.w2 = nn.Parameter(torch.randn(experts, width, hidden) / 3), nn.Parameter(torch.randn(experts, hidden, width) / 3)

    def forward(self, x, labels):
        probs = F.softmax(self.gate(x), dim=-1)
        gate, index = probs.max(dim=-1)
        mask = F.one_hot(index, probs.shape[-1]).float()
        balance = probs.shape[-1] * (mask.mean((0, 1)) * probs.mean((0, 1))).sum()
        hidden = F.relu(torch.einsum("bsd,edh->ebsh", x, self.w1))
        every = torch.einsum("ebsh,ehd->ebsd", hidden, self.w2)
        out = gate.unsqueeze(-1) * torch.einsum("bse,ebsd->bsd", mask, every)
        return out, F.mse_loss(out, labels) + 0.01 * balance


def pixels(out, labels):
    return F.cross_entropy(out, labels)


def integers(*shape, low=0, high=20):
    return torch.randint(low, high, shape)


def ended():
    """Texts whose last word, the largest number, is their end."""
    return torch.cat([integers(4, 7, high=19), torch.full((4, 1), 19)], 1)


NETWORKS = {
    "resnet": lambda: classifier(ResNet(), 6, image=torch.randn(4, 3, 32, 32)),
    "segmentation": lambda: (Trained(Segmentation(), pixels), {"image": image(), "labels": torch.randint(0, 6, (2, 16, 16))}),
    "segmentation-upsample": lambda: (Trained(Segmentation(transposed=False), pixels), {"image": image(), "labels": torch.randint(0, 6, (2, 16,
        16))}),
    "s4d": lambda: regression(S4d(), (2, 10, 6), x=torch.randn(2, 10, 6)),
    "s4d-fft": lambda: regression(S4d(fft=True), (2, 10, 6), x=torch.randn(2, 10, 6)),
    "s4d-complex": lambda: regression(S4d(fft=True, complex_=True), (2, 10, 6), x=torch.randn(2, 10, 6)),
    "mamba": lambda: regression(Mamba(), (2, 8, 8), x=torch.randn(2, 8, 8)),
    "vit": lambda: classifier(Vit(), 6, image=image()),
    "clip": lambda: (Clip(), {"image": torch.randn(4, 3, 16, 16), "ids": integers(4, 8)}),
    "clip-eos": lambda: (Clip("eos"), {"image": torch.randn(4, 3, 16, 16), "ids": ended()}),
    "clip-argmax": lambda: (Clip("argmax"), {"image": torch.randn(4, 3, 16, 16), "ids": ended()}),
    "detr": lambda: (Detr(), {"image": image(), "labels": integers(2, 5, high=5), "boxes": torch.rand(2, 5, 4) * 0.5 + 0.1}),
    "recommender": lambda: (Recommender(bags=False), {"dense": torch.randn(4, 5), "sparse": integers(4, 3, 2, high=7),
        "labels": torch.randint(0, 2, (4,)).float()}),
    "recommender-bags": lambda: (Recommender(), {"dense": torch.randn(4, 5), "sparse": integers(4, 3, 2, high=7), "labels": torch.randint(0, 2,
        (4,)).float()}),
    "dit": lambda: (Dit(), {"image": image(8), "t": integers(2, high=50), "y": integers(2, high=5), "noise": image(8)}),
    "lora-gpt": lambda: words(lora_gpt(), 20),
    "moe-one-hot": lambda: regression(RoutedExperts(), (2, 6, 8), x=torch.randn(2, 6, 8)),
    "moe-equal": lambda: regression(RoutedExperts(how="equal"), (2, 6, 8), x=torch.randn(2, 6, 8)),
    "moe-scatter": lambda: regression(RoutedExperts(how="scatter"), (2, 6, 8), x=torch.randn(2, 6, 8)),
    "moe-threshold": lambda: regression(RoutedExperts(how="threshold"), (2, 6, 8), x=torch.randn(2, 6, 8)),
    "moe-switch": lambda: (Balanced(), {"x": torch.randn(2, 6, 8), "labels": torch.randn(2, 6, 8)}),
}
