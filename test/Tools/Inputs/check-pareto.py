"""Checks a picture of tpsp-plan --pareto against the output of --json.

check-pareto.py PICTURE.svg PLAN.json
"""
import json
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
# No letter of a common font of size 12 is wider, on average over a name.
LETTER = 7.2


def box_of(text):
    x, y = float(text.get("x")), float(text.get("y"))
    length = LETTER * len(text.text)
    begin = x - length if text.get("text-anchor") == "end" else x
    return begin, begin + length, y - 10, y + 3


def meet(one, other):
    return (one[0] < other[1] and other[0] < one[1]
            and one[2] < other[3] and other[2] < one[3])


root = ElementTree.parse(sys.argv[1]).getroot()
plans = json.load(open(sys.argv[2]))
compiled = [p for p in plans["plans"] if p["legal"] and not p["bound"]]
names = [p["label"] for p in compiled] + [p["name"] for p in plans["others"]]
assert len(set(names)) == len(names), sorted(names)
dots = list(root.iter(SVG + "circle"))
assert len(dots) == len(names), (len(dots), len(names))
titles = [dot.find(SVG + "title").text for dot in dots]
for name in names:
    assert any(title.startswith(name) for title in titles), name

labels = [t for t in root.iter(SVG + "text") if t.get("class") == "name"]
assert labels and {label.text for label in labels} <= set(names)
assert len(labels) >= min(len(names), 12), (len(labels), len(names))
boxes = [box_of(label) for label in labels]
for i, box in enumerate(boxes):
    assert 0 <= box[0] and box[1] <= 720, labels[i].text
    for other in boxes[:i]:
        assert not meet(box, other), (labels[i].text, other)
    for dot in dots:
        x, y = float(dot.get("cx")), float(dot.get("cy"))
        assert not meet(box, (x - 3, x + 3, y - 3, y + 3)), labels[i].text
said = " ".join(t.text for t in root.iter(SVG + "text"))
assert f"{len(dots)} plans" in said, said
