"""Checks the names of the lanes in a timeline and on a page.

check-lanes.py TIMELINE.svg PAGE.html NAME...
"""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree


def bold_names(path):
    """The names left of the lanes: the bold texts after the title."""
    texts = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    bold = [each.text for each in texts if each.get("font-weight")]
    return [text for text in bold[1:] if text != "memory in use"]


def names_on_page(path):
    page = open(path, encoding="utf-8").read()
    data = re.search(r'id="data">(.*?)</script>', page, re.S).group(1)
    return [rank["name"] for rank in json.loads(data)["steps"][0]["step"]["ranks"]]


svg, page, names = sys.argv[1], sys.argv[2], sys.argv[3:]
assert names_on_page(page) == names, names_on_page(page)
short = [name.split(": ")[0] for name in names]
assert bold_names(svg) == short, bold_names(svg)
