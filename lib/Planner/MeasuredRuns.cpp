#include "tpsp/Planner/MeasuredRuns.h"

#include "DevicesText.h"
#include "tpsp/Planner/Candidate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::planner;

/// The cells of a line; a quoted cell may have commas, and quotes written
/// twice. Nullopt if a quote is not closed.
static std::optional<std::vector<std::string>> cellsOf(llvm::StringRef line) {
  std::vector<std::string> cells(1);
  bool isQuoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    bool isQuote = line[i] == '"',
         isTwice = isQuoted && isQuote && line.substr(i + 1).starts_with("\"");
    if (isQuote && !isTwice)
      isQuoted = !isQuoted;
    else if (line[i] == ',' && !isQuoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
    i += isTwice;
  }
  for (std::string &cell : cells)
    cell = llvm::StringRef(cell).trim().str();
  return isQuoted ? std::nullopt : std::optional(std::move(cells));
}

/// Reads a number from `least` to 1e18, or 0 from an empty cell. Returns what
/// was expected if it is something else.
template <typename Number>
static std::string readNumber(const std::string &cell, Number &number,
                              const char *least) {
  double value = 0, smallest = 0;
  number = 0;
  if (cell.empty())
    return "";
  llvm::StringRef(least).getAsDouble(smallest);
  bool isNumber = !llvm::StringRef(cell).getAsDouble(value) &&
                  value >= smallest && value <= 1e18;
  number = isNumber ? Number(value) : 0;
  return isNumber ? "" : fmt::format("a number from {} to 1e18", least);
}

/// The same for a count.
static std::string readCount(const std::string &cell, int64_t &count) {
  constexpr int64_t most = 1 << 20;
  count = 0;
  bool isCount =
      cell.empty() || (!llvm::StringRef(cell).getAsInteger(10, count) &&
                       count >= 1 && count <= most);
  return isCount ? "" : fmt::format("a whole number from 1 to {}", most);
}

static std::string readWord(const std::string &cell, std::string &word) {
  word = cell;
  return "";
}

namespace {

/// A column of the file: its name, and how a cell is read. Reading returns what
/// was expected if the cell is something else.
struct Column {
  const char *name;
  bool isNeeded;
  std::string (*read)(const std::string &cell, MeasuredRun &run);
};

} // namespace

static const Column columns[] = {
    {"plan", true,
     [](const std::string &cell, MeasuredRun &run) {
       return readWord(cell, run.plan);
     }},
    {"seconds", true,
     [](const std::string &cell, MeasuredRun &run) {
       return readNumber(cell, run.seconds, "1e-9");
     }},
    {"bytes", true,
     [](const std::string &cell, MeasuredRun &run) {
       return readNumber(cell, run.bytes, "1");
     }},
    {"model", false,
     [](const std::string &cell, MeasuredRun &run) {
       return readWord(cell, run.model);
     }},
    {"devices", false,
     [](const std::string &cell, MeasuredRun &run) {
       return readCount(cell, run.devices);
     }},
    {"micro_batches", false,
     [](const std::string &cell, MeasuredRun &run) {
       return readCount(cell, run.microBatches);
     }},
    {"rematerialize", false, [](const std::string &cell, MeasuredRun &run) {
       Rematerialisation redone = Rematerialisation::named(cell);
       bool isKnown = cell == "none" || cell == "selective" ||
                      (redone.mode == "full" && redone.text() == cell);
       run.rematerialize = cell;
       return std::string(cell.empty() || isKnown
                              ? ""
                              : "none, selective, full or full:LAYERS");
     }}};

static constexpr const char *notClosed = "a quote is not closed";

static llvm::Error wrong(size_t line, const std::string &what) {
  return llvm::createStringError(fmt::format("line {}: {}", line, what));
}

/// The columns that a header names.
static llvm::Expected<std::vector<const Column *>>
parseHeader(llvm::StringRef text, size_t line) {
  std::vector<const Column *> named;
  auto cells = cellsOf(text);
  if (!cells)
    return wrong(line, notClosed);
  for (const std::string &cell : *cells) {
    const auto *found = llvm::find_if(
        columns, [&](const Column &each) { return cell == each.name; });
    if (found == std::end(columns))
      return wrong(line, fmt::format("expected the header plan,seconds,bytes; "
                                     "there may also be columns model, "
                                     "devices, micro_batches and "
                                     "rematerialize, but no '{}'",
                                     cell));
    if (llvm::is_contained(named, found))
      return wrong(line, fmt::format("column {} is there twice", cell));
    named.push_back(found);
  }
  for (const Column &each : columns)
    if (each.isNeeded && !llvm::is_contained(named, &each))
      return wrong(line, fmt::format("the header has no column {}", each.name));
  return named;
}

static llvm::Expected<MeasuredRun>
parseRun(llvm::StringRef text, llvm::ArrayRef<const Column *> named,
         size_t line) {
  auto cells = cellsOf(text);
  if (!cells)
    return wrong(line, notClosed);
  if (cells->size() != named.size())
    return wrong(line, fmt::format("expected {} cells, as in the header, not "
                                   "{}; quote a plan with commas",
                                   named.size(), cells->size()));
  MeasuredRun run;
  for (auto [column, cell] : llvm::zip_equal(named, *cells))
    if (std::string expected = column->read(cell, run); !expected.empty())
      return wrong(line, fmt::format("{}: expected {}, or nothing, not '{}'",
                                     column->name, expected, cell));
  if (run.plan.empty())
    return wrong(line, "the plan is empty");
  return run;
}

llvm::Expected<std::vector<MeasuredRun>>
tpsp::planner::parseRuns(llvm::StringRef text) {
  std::vector<MeasuredRun> runs;
  std::vector<const Column *> named;
  llvm::SmallVector<llvm::StringRef> lines;
  text.consume_front("\xef\xbb\xbf"); // spreadsheets mark UTF-8 so
  text.split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    if (line.trim().empty())
      continue;
    if (named.empty()) {
      auto header = parseHeader(line, number + 1);
      if (!header)
        return header.takeError();
      named = std::move(*header);
      continue;
    }
    llvm::Expected<MeasuredRun> run = parseRun(line, named, number + 1);
    if (!run)
      return run.takeError();
    runs.push_back(std::move(*run));
  }
  if (runs.empty())
    return llvm::createStringError("there is no run after the header "
                                   "plan,seconds,bytes");
  return runs;
}

std::string MeasuredRun::step() const {
  std::vector<std::string> own;
  if (!model.empty())
    own.push_back(llvm::sys::path::filename(model).str());
  if (devices > 0)
    own.push_back(devicesText(devices));
  return llvm::join(own, ", ");
}
