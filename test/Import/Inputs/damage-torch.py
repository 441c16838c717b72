"""Damages an archive in many ways, and imports what is left.

    damage-torch.py ARCHIVE SCRATCH COUNT [FIRST]     tpsp-import must be in PATH

Archives are cut, bits of them are flipped, and values of their graphs are changed, or
nested deeply. Some have another schema, or more bytes in one file than there are.
Each must be imported, or refused in one line with status 1. Uses Python's standard
library only; the damage number FIRST (0 by default) is the same in every call.
"""
import json
import random
import re
import struct
import subprocess
import sys
import zipfile

source, scratch, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
with open(source, "rb") as file:
    whole = file.read()
with zipfile.ZipFile(source) as archive:
    files = {name: archive.read(name) for name in archive.namelist()}
graph = next(name for name in files if name.endswith("models/model.json"))
OTHERS = [None, True, -1, 0, 1, 7, 2**40, -2**63, 2**63 - 1, 1e300, "x", "", [], {}, [[[[]]]], {"as_int": -3}, {"as_none": True}]


def containers(value, found):
    if isinstance(value, (dict, list)) and value:
        found.append(value)
        for one in value.values() if isinstance(value, dict) else value:
            containers(one, found)
    return found


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def claimed(random_):
    """The archive; the header of one file says that it has 2^31 bytes or so."""
    data = bytearray(whole)
    at = [place for place in range(len(data)) if data[place:place + 4] == b"PK\x01\x02"]
    place = random_.choice(at) + random_.choice([20, 24])
    data[place:place + 4] = struct.pack("<I", random_.choice([2**31, 2**32 - 2, 2**30]))
    return data


def changed(random_):
    """The archive with one to three values of its graph changed."""
    model = json.loads(files[graph])
    for _ in range(random_.randint(1, 3)):
        at = random_.choice(containers(model, []))
        key = random_.choice(list(at)) if isinstance(at, dict) else random_.randrange(len(at))
        action = random_.randrange(6)
        if action == 0:
            del at[key]
        elif action == 1 and isinstance(at[key], int):
            at[key] += random_.choice([-1, 1, 16])
        elif action == 2:
            other = random_.choice(containers(model, []))
            at[key] = json.loads(json.dumps(other))
        elif action == 3:
            at[key] = nested(random_.randint(5, 300))
        elif action == 4 and isinstance(model, dict) and "schema_version" in model:
            model["schema_version"] = {"major": random_.choice([-1, 1, 7, 9, 8]), "minor": random_.randrange(20)}
        else:
            at[key] = random_.choice(OTHERS)
        if not model:
            break
    with zipfile.ZipFile(scratch, "w") as out:
        for name, data in files.items():
            out.writestr(name, json.dumps(model) if name == graph else data)


def damage(number):
    random_ = random.Random(number)
    if number % 6 < 3:
        changed(random_)
        return
    data = bytearray(whole)
    if number % 6 == 5:
        data = claimed(random_)
    elif number % 6 == 3:
        del data[random_.randrange(len(data)):]
    else:
        for _ in range(random_.randint(1, 4)):
            data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
    with open(scratch, "wb") as out:
        out.write(data)


statuses = {0: 0, 1: 0}
for number in range(first, first + count):
    damage(number)
    done = subprocess.run(["tpsp-import", scratch], capture_output=True, timeout=60)
    error = done.stderr.decode(errors="replace")
    if done.returncode not in statuses or (done.returncode == 1 and not re.fullmatch(r"tpsp-import: [^\n]*\n", error)):
        sys.exit(f"damage {number}: status {done.returncode}, {error}")
    statuses[done.returncode] += 1
print(f"refused {statuses[1]}, imported {statuses[0]}")
