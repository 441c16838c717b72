#include "tpsp/Abi/NamePattern.h"
#include "tpsp/Abi/TextTable.h"
#include "tpsp/Check/Check.h"

#include "FindingText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

using namespace tpsp;
using namespace tpsp::check;

bool CheckReport::isRight() const {
  bool isCompared = std::any_of(
      tensors.begin(), tensors.end(), [](const TensorVerdict &each) {
        return each.kind == VerdictKind::Equal && !each.isTaken;
      });
  return isCompared && findings.empty() &&
         std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorVerdict &each) {
                       return check::isRight(each.kind);
                     });
}

void CheckReport::add(CheckReport other) {
  if (!other.mesh.empty()) {
    model = std::move(other.model);
    dump = std::move(other.dump);
    mesh = std::move(other.mesh);
  }
  runs += other.runs;
  for (TensorVerdict &verdict : other.tensors)
    tensors.push_back(std::move(verdict));
  for (std::string &note : other.notes)
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
}

/// Whether two verdicts have one cause.
static bool haveOneCause(const TensorVerdict &a, const TensorVerdict &b) {
  if (a.kind != b.kind)
    return false;
  // Unexplained tensors are one finding: later ones follow from the first.
  return a.kind == VerdictKind::Wrong || a.text == b.text;
}

/// 0: a cause; 1: what follows from another finding; 2: not compared.
static int standingOf(const Finding &finding) {
  if (finding.first.kind == VerdictKind::NotCompared)
    return 2;
  return finding.first.isConsequence ? 1 : 0;
}

void tpsp::check::findCauses(CheckReport &report) {
  std::stable_sort(report.tensors.begin(), report.tensors.end(),
                   [](const TensorVerdict &a, const TensorVerdict &b) {
                     return a.place < b.place;
                   });
  report.findings.clear();
  for (const TensorVerdict &each : report.tensors) {
    if (isRight(each.kind))
      continue;
    auto found = std::find_if(
        report.findings.begin(), report.findings.end(),
        [&](const Finding &other) { return haveOneCause(other.first, each); });
    if (found == report.findings.end()) {
      report.findings.push_back({each, {}, {}});
      found = std::prev(report.findings.end());
    }
    found->tensors.push_back(each.title);
    std::string pattern = patternOf(each.title);
    if (std::find(found->patterns.begin(), found->patterns.end(), pattern) ==
        found->patterns.end())
      found->patterns.push_back(std::move(pattern));
  }
  // Causes come first. Tensors that were not compared may be no mistake.
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding &a, const Finding &b) {
                     return standingOf(a) < standingOf(b);
                   });
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static size_t countOf(const CheckReport &report, VerdictKind kind) {
  return std::count_if(
      report.tensors.begin(), report.tensors.end(),
      [&](const TensorVerdict &each) { return each.kind == kind; });
}

static std::string plural(size_t count, const char *one, const char *several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

namespace {
/// Counts of a report's tensors by verdict. Those that were taken as arguments
/// are `taken` alone.
struct Counts {
  explicit Counts(const CheckReport &report)
      : taken(std::count_if(report.tensors.begin(), report.tensors.end(),
                            [](const TensorVerdict &each) {
                              return each.kind == VerdictKind::Equal &&
                                     each.isTaken;
                            })),
        right(countOf(report, VerdictKind::Equal) - taken),
        zero(countOf(report, VerdictKind::Zero)),
        uncompared(countOf(report, VerdictKind::NotCompared)),
        all(report.tensors.size() - taken),
        wrong(all - right - zero - uncompared) {}

  size_t taken, right, zero, uncompared, all, wrong;
};
} // namespace

/// The answer in one line.
static std::string headline(const CheckReport &report) {
  auto [taken, right, zero, uncompared, all, wrong] = Counts(report);
  if (wrong > 0) {
    size_t causes = std::count_if(
        report.findings.begin(), report.findings.end(),
        [](const Finding &each) { return standingOf(each) == 0; });
    return fmt::format("wrong: {} of {}, by {}", wrong,
                       plural(all, "tensor", "tensors"),
                       plural(causes, "cause", "causes"));
  }
  if (right == 0)
    return taken > 0 ? "nothing was compared: the dump has arguments alone"
                     : "nothing was compared";
  // A tensor that is not compared may be wrong.
  std::string text =
      fmt::format("{}: {}", uncompared > 0 ? "right so far" : "right",
                  plural(right, "tensor", "tensors"));
  if (zero > 0)
    text += fmt::format(", and {} that are zero and decide nothing", zero);
  if (uncompared > 0)
    text += fmt::format("; not compared: {}", uncompared);
  return text;
}

/// The names of a finding's tensors, by patterns.
static std::string namesText(const Finding &finding) {
  constexpr size_t most = 3;
  std::vector<std::string> shown = finding.patterns;
  if (finding.tensors.size() == finding.patterns.size())
    shown = finding.tensors;
  size_t more = shown.size() - std::min(shown.size(), most);
  shown.resize(std::min(shown.size(), most));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (more > 0)
    text += fmt::format(" and {} more", more);
  if (finding.tensors.size() > shown.size())
    text += fmt::format(" ({} tensors)", finding.tensors.size());
  return text;
}

static std::string evidenceText(const TensorVerdict &first) {
  if (first.kind == VerdictKind::NotCompared)
    return "";
  std::string text = fmt::format("error {:.2g}", first.error);
  if (first.kind == VerdictKind::Wrong)
    return fmt::format("error {:.2g}; nearest: {}, {:.2g}", first.error,
                       first.next, first.nextError);
  if (!first.next.empty())
    text += fmt::format("; next hypothesis: {}, {:.2g}", first.next,
                        first.nextError);
  if (first.distinguishing > 0)
    text += fmt::format("; {} of {} elements tell it from right",
                        first.distinguishing, first.elements);
  return text;
}

static rt::PageFinding inWords(const Finding &finding) {
  const TensorVerdict &first = finding.first;
  rt::PageFinding words;
  words.title = fmt::format("{}: {}", namesText(finding), first.text);
  if (first.kind == VerdictKind::Wrong && finding.tensors.size() > 1)
    words.title =
        fmt::format("first wrong: {}, {}; {} follow", first.title, first.text,
                    plural(finding.tensors.size() - 1, "other", "others"));
  addFact(words, "needs", first.collective);
  addFact(words, "at", first.location);
  addFact(words, "rule",
          first.rule.empty() ? "" : first.rule + " (docs/Spec.md)");
  constexpr size_t most = 3;
  for (size_t i = 0; i < std::min(most, first.alternatives.size()); ++i)
    addFact(words, "or", first.alternatives[i].text);
  addFact(words, "evidence", evidenceText(first));
  words.axes = first.axes.empty() ? first.collectiveAxes : first.axes;
  words.collective = first.collective;
  words.location = first.location;
  words.isWrong = first.kind != VerdictKind::NotCompared;
  return words;
}

/// One line for each tensor.
static std::string tableOf(const CheckReport &report) {
  TextTable table("lrl");
  table.add({"tensor", "error", "verdict"});
  for (const TensorVerdict &each : report.tensors)
    table.add({each.title, fmt::format("{:.2g}", each.errorOfRight),
               fmt::format("{}{}{}", nameOf(each.kind),
                           each.text.empty() ? "" : ": ", each.text)});
  return "\n" + table.text();
}

std::string tpsp::check::toText(const CheckReport &report, bool everyTensor) {
  std::string text = headline(report) + "\n";
  size_t number = 0;
  for (const Finding &finding : report.findings)
    text += toText(inWords(finding), ++number);
  if (everyTensor)
    text += tableOf(report);
  for (const std::string &note : report.notes)
    text += fmt::format("\nnote: {}\n", note);
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

using Json = nlohmann::ordered_json;

static Json jsonOf(const TensorVerdict &each) {
  Json json;
  json["tensor"] = each.title;
  json["kind"] = nameOf(each.kind);
  json["text"] = each.text;
  json["axes"] = each.axes;
  json["factor"] = each.factor;
  json["alternatives"] = Json::array();
  for (const Claim &other : each.alternatives)
    json["alternatives"].push_back(other.text);
  json["collective"] = each.collective;
  json["rule"] = each.rule;
  json["location"] = each.location;
  json["error"] = each.error;
  json["error_of_right"] = each.errorOfRight;
  json["tolerance"] = each.tolerance;
  json["next"] = each.next;
  json["next_error"] = each.nextError;
  json["elements"] = each.elements;
  json["distinguishing"] = each.distinguishing;
  return json;
}

std::string tpsp::check::toJson(const CheckReport &report) {
  Json json;
  json["version"] = 1;
  json["right"] = report.isRight();
  json["model"] = report.model;
  json["dump"] = report.dump;
  json["mesh"] = Json::object();
  for (const MeshAxis &axis : report.mesh)
    json["mesh"][axis.name] = axis.size;
  json["findings"] = Json::array();
  for (const Finding &finding : report.findings) {
    Json one = jsonOf(finding.first);
    one["tensors"] = finding.tensors;
    json["findings"].push_back(std::move(one));
  }
  json["tensors"] = Json::array();
  for (const TensorVerdict &each : report.tensors)
    json["tensors"].push_back(jsonOf(each));
  json["notes"] = report.notes;
  json["runs"] = report.runs;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

//===----------------------------------------------------------------------===//
// Page
//===----------------------------------------------------------------------===//

static std::string outcomeOf(const CheckReport &report) {
  Counts counts(report);
  if (counts.wrong > 0)
    return "wrong";
  if (counts.right == 0)
    return "nothing was compared";
  return counts.uncompared > 0 ? "right so far" : "right";
}

/// The first wrong tensor in program order; "" if none is.
static std::string firstWrong(const CheckReport &report) {
  for (const Finding &each : report.findings)
    if (standingOf(each) < 2)
      return fmt::format(
          "{}{}", each.first.title,
          each.first.location.empty() ? "" : ", at " + each.first.location);
  return "";
}

rt::PageCheck tpsp::check::toPageCheck(const CheckReport &report) {
  Counts counts(report);
  std::vector<std::string> mesh;
  for (const MeshAxis &axis : report.mesh)
    mesh.push_back(fmt::format("{} = {}", axis.name, axis.size));
  auto some = [](size_t count) { return count ? std::to_string(count) : ""; };
  rt::PageCheck page;
  page.title = "numbers of " + report.dump;
  page.outcome = outcomeOf(report);
  page.answer = headline(report);
  page.facts = {{"first wrong", firstWrong(report)},
                {"tensors wrong", std::to_string(counts.wrong)},
                {"right", std::to_string(counts.right)},
                {"zero", some(counts.zero)},
                {"not compared", some(counts.uncompared)},
                {"taken as arguments", some(counts.taken)},
                {"mesh", fmt::format("{}", fmt::join(mesh, ", "))},
                {"dump", report.dump},
                {"steps that were run", some(size_t(report.runs))}};
  for (const Finding &each : report.findings)
    page.findings.push_back(inWords(each));
  page.notes = report.notes;
  page.report = toJson(report);
  return page;
}
