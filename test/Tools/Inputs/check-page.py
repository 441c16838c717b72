"""Compares a page of --html with the tool's other outputs.

check-page.py PAGE.html [--matrix PLAN.json] [--report RUN.json] [--steps N] [--stages N]
check-page.py PAGE.html --checks CHECK.json... [--model MODEL.mlir]
"""
import argparse
import html.parser
import json
import os


class Page(html.parser.HTMLParser):
    """Collects the data, the tags, and attributes that would fetch
    something."""

    def __init__(self):
        super().__init__()
        self.data, self.tags, self.fetched, self.inside = "", [], [], False

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        self.fetched += [v for k, v in attributes.items()
                         if k in ("src", "href") and not v.startswith("data:")]
        self.inside = attributes.get("id") == "data"

    def handle_data(self, text):
        if self.inside:
            self.data += text

    def handle_endtag(self, tag):
        self.inside = False


def check_spans(drawn):
    """Checks that spans lie in the step, and that the last ends it."""
    end = 0
    for rank in drawn["ranks"]:
        for stream in rank["streams"]:
            spans = stream["spans"]
            for command, begin, stop in zip(*[iter(spans)] * 3):
                assert 0 <= begin <= stop and command < len(drawn["commands"])
                end = max(end, stop)
    assert end == drawn["nanoseconds"], (end, drawn["nanoseconds"])


def step_and_peak(step):
    """Returns the seconds and bytes of a step's report."""
    report = step["report"]
    if "stages" in report:
        peaks = [stage["memory"]["peak"] for stage in report["stages"]]
        drawn = [rank["peak"]["bytes"] for rank in step["step"]["ranks"]]
        assert peaks == drawn, (peaks, drawn)
        return report["step"], max(peaks)
    assert step["explanation"].count("\n") > 3, "no equations"
    peak = report["memory"]["peak"]
    assert peak == step["step"]["arena"]
    return report["time"]["step"], peak


def check_step(step, matrix):
    """Checks that a step's data are consistent and agree with its plan."""
    drawn = step["step"]
    assert drawn["left_out"]["commands"] == 0 and not step["cut"]
    check_spans(drawn)
    took, peak = step_and_peak(step)
    if not matrix:
        return
    plan = matrix["plans"][step["plan"]]
    assert plan["legal"] and not plan["bound"]
    # The seconds of a run are a median; the drawn step is the last.
    assert abs(1e-9 * drawn["nanoseconds"] - took) < 1e-8, (drawn, took)
    # A plan that was compiled whole is compiled to the same again.
    if not plan["composed"]:
        assert peak == plan["memory"]["total"], plan["name"]
        assert abs(took - plan["seconds"]) <= 1e-9 * took, plan["name"]


def check_checks(data, reports, model):
    """Checks a page of tpsp-check: the reports of --json, and the model."""
    assert [each["report"] for each in data["checks"]] == [
        json.load(open(report)) for report in reports]
    for each in data["checks"]:
        assert not each["cut"] and each["answer"].startswith(each["outcome"])
        assert len(each["findings"]) == len(each["report"]["findings"])
        for shown, known in zip(each["findings"], each["report"]["findings"]):
            assert shown["location"] == known["location"]
            assert shown["collective"] == known["collective"]
    if model:
        assert data["model"]["path"] == model
        assert data["model"]["text"] == open(model).read()
    explanation = data["steps"][0]["explanation"]
    assert (explanation.count("\n") > 3) == bool(model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--matrix")
    parser.add_argument("--report")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--stages", type=int, help="ranks that are drawn")
    parser.add_argument("--checks", nargs="+", help="reports of --json")
    parser.add_argument("--model", help="the model of these checks")
    o = parser.parse_args()
    page = Page()
    page.feed(open(o.page, encoding="utf-8").read())
    assert not page.fetched, page.fetched
    assert page.tags.count("script") == 2 and "b" not in page.tags
    data = json.loads(page.data)
    assert data["format"] == "tpsp-page-1"
    if o.checks:
        return check_checks(data, o.checks, o.model)
    matrix = json.load(open(o.matrix)) if o.matrix else None
    assert data["matrix"] == matrix, "the matrix is another than --json's"
    for plan in matrix["plans"] if matrix else []:
        # A plan that was not compiled has bounds only.
        known = plan["legal"] and not plan["bound"]
        assert ("exposed_seconds" in plan) == known, plan["name"]
    assert len(data["steps"]) == o.steps, len(data["steps"])
    for step in data["steps"]:
        check_step(step, matrix)
        if o.stages:
            assert len(step["step"]["ranks"]) == o.stages
    if o.report:
        assert data["steps"][0]["report"] == json.load(open(o.report))
    assert os.path.getsize(o.page) < 1 << 20


main()
