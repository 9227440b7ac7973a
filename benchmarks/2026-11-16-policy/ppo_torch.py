"""The two-core network under PPO as a plain PyTorch loop: what `afterstate train ppo` is compared with.

The same network (17 places of four cells, rows of 32, head of 32), lanes, horizon, batch and epochs; a vectorised NumPy game with row tables; sparse
gradients and Adagrad for the rows, Adam for the head. Prints learned moves a second. Needs numpy and torch:

    python ppo_torch.py [rounds]
"""
import sys, time
import numpy as np, torch

LANES, HORIZON, BATCH, EPOCHS, WIDTH, HIDDEN = 512, 64, 2048, 2, 32, 32
torch.manual_seed(1)
rng = np.random.default_rng(1)

def slide_row(row):
    cells, out, points = [(row >> 4 * i) & 15 for i in range(4)], [], 0
    tiles = [c for c in cells if c]
    while tiles:
        if len(tiles) > 1 and tiles[0] == tiles[1]:
            out.append(min(tiles[0] + 1, 15)); points += 2 << tiles[0]; tiles = tiles[2:]
        else:
            out.append(tiles.pop(0))
    return sum(c << 4 * i for i, c in enumerate(out)), points

LEFT = np.zeros(65536, np.int64); POINTS = np.zeros(65536, np.int64)
for r in range(65536):
    LEFT[r], POINTS[r] = slide_row(r)

def slide_left(boards):                       # boards: (n, 4, 4) exponents
    keys = boards[..., 0] | boards[..., 1] << 4 | boards[..., 2] << 8 | boards[..., 3] << 12
    moved = LEFT[keys]
    return np.stack([(moved >> 4 * i) & 15 for i in range(4)], -1), POINTS[keys].sum(-1)

TURN = [lambda b: b, lambda b: b[:, :, ::-1], lambda b: b.transpose(0, 2, 1), lambda b: b.transpose(0, 2, 1)[:, :, ::-1]]
BACK = [lambda b: b, lambda b: b[:, :, ::-1], lambda b: b.transpose(0, 2, 1), lambda b: b[:, :, ::-1].transpose(0, 2, 1)]

def slides(boards):
    after, points = zip(*[(BACK[d](a), p) for d in range(4) for a, p in [slide_left(TURN[d](boards))]])
    after, points = np.stack(after, 1), np.stack(points, 1)
    return after, points, (after != boards[:, None]).any((2, 3))

def spawn(boards):
    flat = boards.reshape(len(boards), 16)
    pick = (rng.random((len(boards), 16)) * (flat == 0)).argmax(1)
    flat[np.arange(len(boards)), pick] = np.where(rng.random(len(boards)) < 0.9, 1, 2)
    return boards

def start(n):
    return spawn(spawn(np.zeros((n, 4, 4), np.int64)))

PLACES = [[(r, c) for c in range(4)] for r in range(4)] + [[(r, c) for r in range(4)] for c in range(4)] + \
    [[(r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)] for r in range(3) for c in range(3)]

def rows_of(boards):
    idx = [sum(boards[:, r, c] << 4 * i for i, (r, c) in enumerate(p)) + k * 65536 for k, p in enumerate(PLACES)]
    return torch.from_numpy(np.stack(idx, 1))

bag = torch.nn.EmbeddingBag(17 * 65536, WIDTH, mode="sum", sparse=True)
torch.nn.init.uniform_(bag.weight, -0.2, 0.2)
head = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(WIDTH, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 5))
rows_step, head_step = torch.optim.Adagrad(bag.parameters(), lr=0.05), torch.optim.Adam(head.parameters(), lr=1e-3)

def forward(rows):
    out = head(bag(rows))
    return out[:, :4], out[:, 4]

def masked(logits, legal):
    return torch.log_softmax(logits.masked_fill(~legal, -1e9), 1)

boards, done_moves, began = start(LANES), 0, time.time()
for round_ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 8):
    kept = []
    for _ in range(HORIZON):
        rows = rows_of(boards)
        after, points, legal = slides(boards)
        legal = torch.from_numpy(legal)
        with torch.no_grad():
            logits, value = forward(rows)
            logs = masked(logits, legal)
            action = torch.multinomial(logs.exp(), 1)[:, 0]
        a = action.numpy(); i = np.arange(LANES)
        boards = spawn(after[i, a].copy())
        over = ~slides(boards)[2].any(1)
        kept.append((rows, legal, action, logs[i, a], value, torch.from_numpy(np.log2(points[i, a] + 1) / 100).float(), torch.from_numpy(over)))
        if over.any():
            boards[over] = start(int(over.sum()))
    with torch.no_grad():
        next_value, advantage, advantages = forward(rows_of(boards))[1], torch.zeros(LANES), []
        for rows, legal, action, log, value, reward, over in reversed(kept):
            go = (~over).float()
            advantage = reward + 0.997 * next_value * go - value + 0.997 * 0.9 * go * advantage
            advantages.append(advantage); next_value = value
        advantages.reverse()
    rows, legal, action, log, value, _, _ = (torch.cat(column) for column in zip(*kept))
    advantage = torch.cat(advantages); target = advantage + value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(rows)).split(BATCH):
            logits, v = forward(rows[batch])
            logs = masked(logits, legal[batch])
            ratio = (logs.gather(1, action[batch, None])[:, 0] - log[batch]).exp()
            gain = torch.min(ratio * advantage[batch], ratio.clamp(0.8, 1.2) * advantage[batch])
            entropy = -(logs.exp() * logs.masked_fill(~legal[batch], 0)).sum(1)
            loss = (-gain + 0.25 * (v - target[batch]) ** 2 - 0.003 * entropy).mean()
            rows_step.zero_grad(); head_step.zero_grad(); loss.backward()
            torch.nn.utils.clip_grad_norm_(head.parameters(), 0.5); rows_step.step(); head_step.step()
    done_moves += len(rows)
    print(f"{done_moves:,} moves, {done_moves / (time.time() - began):,.0f} a second, {torch.get_num_threads()} threads", flush=True)
