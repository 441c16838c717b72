#include "tpsp/Runtime/Driver/Page/Page.h"

#include "PageJson.h"

using namespace tpsp;
using namespace tpsp::rt;
using Json = nlohmann::ordered_json;

/// The most rows in a list of a report, and the most bytes of an explanation. A
/// page of three steps then stays below about 5 MB.
static constexpr size_t mostRows = 2500, mostText = 400'000;

/// Shortens the lists in `json`. `cuts` gets the original length of each, by
/// its key.
static void shorten(Json &json, Json &cuts) {
  for (auto &[key, value] : json.items()) {
    if (value.is_array() && value.size() > mostRows) {
      cuts[key] = value.size();
      value.erase(value.begin() + mostRows, value.end());
    } else if (value.is_object()) {
      shorten(value, cuts);
    }
  }
}

/// The first whole lines that fit.
static std::string shortened(const std::string &text, const char *key,
                             Json &cuts) {
  if (text.size() <= mostText)
    return text;
  cuts[key] = text.size();
  return text.substr(0, text.rfind('\n', mostText) + 1);
}

static Json parsed(const std::string &text) {
  return text.empty() ? Json()
                      : Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

static Json stepJson(const PageStep &step) {
  Json report = parsed(step.report), cuts = Json::object();
  shorten(report, cuts);
  std::string explanation = shortened(step.explanation, "explanation", cuts);
  return {{"plan", step.plan},
          {"report", report},
          {"step", pageStep(step.trace)},
          {"explanation", explanation},
          {"cut", cuts}};
}

std::string tpsp::rt::fillPage(const std::string &page,
                               const std::string &json) {
  static const std::string marker = "TPSP_PAGE_DATA";
  std::string data;
  data.reserve(json.size());
  // In JSON, '<' occurs only in strings. Without it, no text can end the script
  // element.
  for (char c : json)
    data += c == '<' ? std::string("\\u003c") : std::string(1, c);
  std::string result = page;
  return result.replace(result.find(marker), marker.size(), data);
}

/// The template with this data.
static std::string filled(const Json &json) {
  return fillPage(embeddedPage(),
                  json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string tpsp::rt::toPage(const std::string &matrix,
                             const std::vector<PageStep> &steps) {
  Json json = {{"format", "tpsp-page-1"},
               {"looks", pageLooks()},
               {"matrix", parsed(matrix)},
               {"steps", Json::array()}};
  for (const PageStep &step : steps)
    json["steps"].push_back(stepJson(step));
  return filled(json);
}

static Json factsJson(const std::vector<PageFact> &facts) {
  Json json = Json::array();
  for (const auto &[name, text] : facts)
    json.push_back({name, text});
  return json;
}

static Json checkJson(const PageCheck &check) {
  Json report = parsed(check.report), cuts = Json::object();
  shorten(report, cuts);
  Json findings = Json::array();
  for (const PageFinding &each : check.findings) {
    if (findings.size() == mostRows) {
      cuts["findings"] = check.findings.size();
      break;
    }
    findings.push_back({{"title", each.title},
                        {"facts", factsJson(each.facts)},
                        {"axes", each.axes},
                        {"collective", each.collective},
                        {"location", each.location},
                        {"wrong", each.isWrong}});
  }
  return {{"title", check.title},        {"outcome", check.outcome},
          {"answer", check.answer},      {"facts", factsJson(check.facts)},
          {"findings", findings},        {"notes", check.notes},
          {"report", std::move(report)}, {"cut", cuts}};
}

std::string tpsp::rt::toPage(const PageModel &model,
                             const std::vector<PageCheck> &checks) {
  Json step = stepJson({"", {}, model.explanation}), cuts = Json::object();
  std::string text = shortened(model.text, "text", cuts);
  Json json = {{"format", "tpsp-page-1"},
               {"looks", pageLooks()},
               {"matrix", nullptr},
               {"steps", Json::array({step})},
               {"model", {{"path", model.path}, {"text", text}, {"cut", cuts}}},
               {"checks", Json::array()}};
  for (const PageCheck &check : checks)
    json["checks"].push_back(checkJson(check));
  return filled(json);
}
