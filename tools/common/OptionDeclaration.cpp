#include "OptionDeclaration.h"

#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

#include <charconv>
#include <limits>
#include <sstream>

using namespace tpsp;
using namespace tpsp::tool;

/// Used instead of CLI11's own checks, whose messages name the largest double.
CLI::Validator tpsp::tool::numberOf(OptionDomain domain) {
  auto check = [domain](const std::string &text) {
    double number = 0;
    if (!CLI::detail::lexical_cast(text, number))
      number = std::numeric_limits<double>::quiet_NaN();
    return problemOf(domain, number, text);
  };
  return {check, domain == OptionDomain::Positive ? "POSITIVE"
                 : domain == OptionDomain::Share  ? "SHARE"
                                                  : "NUMBER"};
}

CLI::Validator tpsp::tool::seed() {
  auto check = [](const std::string &text) -> std::string {
    const char *end = text.data() + text.size();
    uint64_t number = 0;
    auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end)
      return "";
    return "expected a whole number from 0 to 2^64 - 1, not '" + text + "'";
  };
  return {check, "SEED"};
}

CLI::Validator tpsp::tool::notEmpty() {
  auto check = [](const std::string &text) -> std::string {
    return text.empty() ? "expected a value, and this is empty" : "";
  };
  return {check, ""};
}

/// Whether a text is a name and a number of at least 1, "tp=4". CLI11 would
/// read a number that is too large as the largest one.
static bool isNamedNumber(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return false;
  const char *end = text.data() + text.size();
  int64_t number = 0;
  auto parsed = std::from_chars(text.data() + equals + 1, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end && number > 0;
}

static CLI::Validator namedNumber(const char *what, const char *type) {
  auto check = [what](const std::string &text) -> std::string {
    if (isNamedNumber(text))
      return "";
    return std::string("expected ") + what + ", not '" + text + "'";
  };
  return {check, type};
}

CLI::Validator tpsp::tool::axisSize() {
  return namedNumber("axis=size with a size of at least 1, such as tp=4",
                     "AXIS=SIZE");
}

CLI::Validator tpsp::tool::indexExtent() {
  return namedNumber("index=extent with an extent of at least 1, such as "
                     "s=8192",
                     "INDEX=EXTENT");
}

CLI::Validator tpsp::tool::indexMultiple() {
  return namedNumber("index=multiple with a multiple of at least 1, such as "
                     "v=8",
                     "INDEX=MULTIPLE");
}

/// Whether the file is a compiled plan, by its name or its first bytes.
static bool isPlan(const std::string &path) {
  bool isCalledSo =
      path.size() > 3 && path.compare(path.size() - 3, 3, ".so") == 0;
  return isCalledSo || rt::looksLikePlan(path);
}

static void noteGiven(const CLI::App &app, ToolOptions &options) {
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0)
      options.given.insert(option->get_single_name());
  options.isPlan = isPlan(options.model);
}

/// Does parseCommandLine(), writing to these streams.
static int parse(int argc, char **argv, ToolOptions &options,
                 const CommandLine &line, std::ostream &out,
                 std::ostream &err) {
  CLI::App app(line.summary);
  app.footer(line.footer);
  app.set_version_flag("--version", options.tool + " " TPSP_VERSION);
  app.failure_message([&](const CLI::App *, const CLI::Error &error) {
    return options.tool + ": " + error.what() +
           "\nRun with --help for more information.\n";
  });
  try {
    line.declare(app);
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error, out, err) == 0 ? Done : Usage;
  }
  noteGiven(app, options);
  std::string problem = line.problem();
  if (problem.empty())
    return -1;
  err << options.tool << ": " << problem << "\n";
  return Usage;
}

int tpsp::tool::parseCommandLine(int argc, char **argv, ToolOptions &options,
                                 const CommandLine &line, std::string *said) {
  std::ostringstream kept;
  std::ostream &out = said ? kept : std::cout, &err = said ? kept : std::cerr;
  int code = parse(argc, argv, options, line, out, err);
  if (said)
    *said = kept.str();
  return code;
}
