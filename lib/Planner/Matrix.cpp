#include "tpsp/Planner/Matrix.h"
#include "tpsp/Abi/TextTable.h"

#include "DevicesText.h"

#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;
using rt::bytesText;
using rt::secondsText;

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

static std::string overReason(const Evaluation &row, int64_t limit) {
  std::string largest;
  for (const NamedBytes &tensor : row.largest)
    largest += (largest.empty() ? "" : ", ") +
               (tensor.name.empty() ? "a temporary" : tensor.name) + " " +
               bytesText(double(tensor.bytes));
  std::string most = bytesText(double(row.memory.total - limit));
  if (row.isBound)
    return "over by at least " + most +
           ": parameters, state and what backward keeps";
  return "over by " + most + (largest.empty() ? "" : ": " + largest);
}

/// The largest part of its bound.
static std::string atLeastReason(const Evaluation &row,
                                 const Evaluation &best) {
  auto largest = llvm::max_element(row.parts, [](const auto &a, const auto &b) {
    return a.second < b.second;
  });
  return "slower by at least " + secondsText(row.seconds - best.seconds) +
         ": " + largest->first + " " + secondsText(largest->second);
}

/// The first of the names of a bucket.
static std::string firstOf(const std::string &tensors) {
  size_t end = tensors.find(", ");
  return end == std::string::npos ? tensors : tensors.substr(0, end) + ", ...";
}

/// The part of the time that grew most.
static std::string slowerReason(const Evaluation &row, const Evaluation &best) {
  std::string blamed;
  double most = 0;
  for (const auto &[part, seconds] : row.parts) {
    auto there = best.parts.find(part);
    double more = seconds - (there == best.parts.end() ? 0 : there->second);
    if (more <= most)
      continue;
    most = more;
    blamed = part;
  }
  // Two plans whose axes differ only in name are equally fast.
  if (row.seconds <= best.seconds)
    return "as fast as plan 1";
  std::string text = "slower by " + secondsText(row.seconds - best.seconds);
  if (blamed.empty())
    return text;
  text += ": " + blamed;
  if (auto tensor = row.tensors.find(blamed);
      tensor != row.tensors.end() && !tensor->second.empty())
    text += " (" + firstOf(tensor->second) + ")";
  return text + " +" + secondsText(most);
}

/// Names the first earlier row that needs no more memory; earlier rows are no
/// slower.
static std::string dominatedReason(const Evaluation &row,
                                   const std::vector<MatrixRow> &before) {
  for (const MatrixRow &other : before)
    if (other.rank > 0 && other.evaluation->memory.total <= row.memory.total)
      return "; plan " + std::to_string(other.rank) + " needs no more memory";
  return "";
}

/// Whether the whole programs may be equally fast, although the figures differ.
/// At least one of the figures is composed.
static bool mayBeAsFast(const Evaluation &row, const Evaluation &best) {
  return (row.isComposed || best.isComposed) &&
         row.leastWhole() <= best.mostWhole();
}

/// "±1.0 %".
static std::string errorText(double error) {
  return fmt::format("±{:.1f} %", 100 * error);
}

static std::string tieReason(const Evaluation &row, const Evaluation &best) {
  double more = row.seconds - best.seconds;
  if (row.isSerial && more > 0)
    return fmt::format("slower by {} without overlap, for which there was no "
                       "time; with it perhaps not",
                       secondsText(more));
  return fmt::format(
      "as fast as plan 1 within the error of {}: {} {}",
      errorText(std::max(row.error.lessTime, best.error.moreTime)),
      secondsText(std::abs(more)), more < 0 ? "less" : "more");
}

static std::string reasonOf(const Evaluation &row, const Evaluation *best,
                            const std::vector<MatrixRow> &before,
                            int64_t limit) {
  if (!row.isLegal())
    return "illegal: " + row.refusal;
  if (row.memory.total > limit)
    return overReason(row, limit);
  if (!best || best == &row)
    return "";
  if (row.isBound)
    return atLeastReason(row, *best);
  if (mayBeAsFast(row, *best))
    return tieReason(row, *best);
  return slowerReason(row, *best) + dominatedReason(row, before);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static bool isCompiled(const Evaluation &evaluation) {
  return evaluation.isLegal() && !evaluation.isBound && evaluation.seconds > 0;
}

static MatrixRow rowOf(const Evaluation &evaluation, const ProgramFacts &facts,
                       const MatrixOptions &options) {
  MatrixRow row;
  row.evaluation = &evaluation;
  row.subscripts = subscriptText(evaluation.candidate, facts);
  row.name = usualName(evaluation.candidate, facts);
  row.settings = settingsText(evaluation.candidate.settings);
  if (!isCompiled(evaluation))
    return row;
  row.tokensPerSecond = double(options.tokens) / evaluation.seconds;
  if (options.peakFlops > 0)
    row.modelUtilisation = options.modelFlops / double(options.devices) /
                           options.peakFlops / evaluation.seconds;
  return row;
}

/// The subscripts of a plan, one by one: "b@dp", "s@tp".
static std::vector<std::string> subscriptsIn(const std::string &text) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " ,:");
  std::vector<std::string> subscripts;
  for (llvm::StringRef word : words)
    if (word.contains('@'))
      subscripts.push_back(word.str());
  return subscripts;
}

/// The fewest of a plan's subscripts that no plan of `others` has together; all
/// of them if there are none.
static std::vector<std::string>
fewestOwn(const std::vector<std::string> &subscripts,
          const std::vector<std::set<std::string>> &others) {
  constexpr size_t most = 10;
  size_t count = std::min(subscripts.size(), most);
  std::vector<std::string> fewest = subscripts;
  for (unsigned chosen = 1; chosen < 1u << count; ++chosen) {
    std::vector<std::string> some;
    for (size_t i = 0; i < count; ++i)
      if (chosen >> i & 1)
        some.push_back(subscripts[i]);
    bool isOwn = llvm::none_of(others, [&](const auto &other) {
      return llvm::all_of(some, [&](const std::string &subscript) {
        return other.count(subscript) > 0;
      });
    });
    if (isOwn && some.size() < fewest.size())
      fewest = some;
  }
  return fewest;
}

/// Labels the rows. Those of different plans that are called alike have the
/// subscripts that tell them apart.
static void label(std::vector<MatrixRow> &rows) {
  std::map<std::string, std::vector<MatrixRow *>> alike;
  for (MatrixRow &row : rows)
    alike[row.name].push_back(&row);
  for (auto &[name, group] : alike)
    for (MatrixRow *row : group) {
      std::vector<std::set<std::string>> others;
      for (const MatrixRow *other : group)
        if (other->subscripts != row->subscripts) {
          std::vector<std::string> has = subscriptsIn(other->subscripts);
          others.emplace_back(has.begin(), has.end());
        }
      std::vector<std::string> own = subscriptsIn(row->subscripts);
      row->label = row->name;
      if (!others.empty() && !own.empty())
        row->label +=
            fmt::format(" ({})", fmt::join(fewestOwn(own, others), " "));
    }
}

/// Names plans without a row. Plans of one name have the subscripts that tell
/// them from all others or, if these are equal, the settings.
static void nameOthers(const std::vector<MatrixRow> &others, Matrix &matrix) {
  std::vector<MatrixRow> all = matrix.rows;
  all.insert(all.end(), others.begin(), others.end());
  label(all);
  std::set<std::string> used;
  for (const MatrixRow &row : matrix.rows)
    used.insert(row.label);
  for (const MatrixRow &row : llvm::drop_begin(all, matrix.rows.size())) {
    std::string name = row.label;
    if (used.count(name))
      name = fmt::format("{} ({})", row.name, row.subscripts);
    if (used.count(name))
      name += " (" + row.settings + ")";
    used.insert(name);
    matrix.others.emplace_back(name, row.evaluation);
  }
}

/// Notes the ranks of plans that may be the fastest, unless only the first may
/// be.
static void noteTies(const SearchResult &result, const Evaluation *best,
                     Matrix &matrix) {
  int64_t rank = 0;
  for (const Evaluation &each : result.evaluations) {
    if (!each.isPlan(matrix.options.memoryLimit))
      continue;
    ++rank;
    if (&each != best && !mayBeAsFast(each, *best))
      continue;
    matrix.ties.push_back(rank);
    double error = &each == best ? each.error.moreTime : each.error.lessTime;
    matrix.tieError = std::max(matrix.tieError, error);
  }
  if (matrix.ties.size() < 2)
    matrix.ties.clear();
}

Matrix tpsp::planner::makeMatrix(const SearchResult &result,
                                 const std::vector<Candidate> &notable,
                                 const ProgramFacts &facts,
                                 const MatrixOptions &options) {
  Matrix matrix;
  matrix.options = options;
  matrix.result = &result;
  std::set<std::string> always;
  for (const Candidate &candidate : notable)
    always.insert(subscriptText(candidate, facts));
  const Evaluation *best = result.best(options.memoryLimit);
  if (best)
    matrix.margin = options.memoryLimit - best->memory.total;
  noteTies(result, best, matrix);
  int64_t rank = 0;
  std::vector<MatrixRow> others;
  for (const Evaluation &evaluation : result.evaluations) {
    MatrixRow row = rowOf(evaluation, facts, options);
    bool fits = evaluation.isPlan(options.memoryLimit);
    if (fits)
      row.rank = ++rank;
    row.isTied = llvm::is_contained(matrix.ties, row.rank);
    bool isShown = fits && rank <= int64_t(options.rows);
    // If nothing fits, the nearest plans are shown.
    isShown |= !best && matrix.rows.size() < options.rows;
    if (!isShown && !always.count(row.subscripts)) {
      if (isCompiled(evaluation))
        others.push_back(std::move(row));
      continue;
    }
    row.reason = reasonOf(evaluation, best, matrix.rows, options.memoryLimit);
    matrix.rows.push_back(std::move(row));
  }
  label(matrix.rows);
  nameOthers(others, matrix);
  for (const OpenPlan &each : result.open)
    matrix.openNames.push_back(usualName(each.candidate, facts));
  return matrix;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

using Cells = std::vector<std::string>;

/// The memory by the profile: allocated and reserved.
static Cells profiledCells(const MemoryBill &memory) {
  auto text = [](int64_t bytes) {
    return bytes > 0 ? bytesText(double(bytes)) : std::string("-");
  };
  return {text(memory.profiled), text(memory.profiledReserved)};
}

/// Inserts cells before the last one.
static Cells beforeReason(Cells row, const Cells &cells) {
  row.insert(row.end() - 1, cells.begin(), cells.end());
  return row;
}

static Cells cellsOf(const MatrixRow &row) {
  const Evaluation &e = *row.evaluation;
  std::string plan = row.label;
  if (!row.settings.empty())
    plan += " (" + row.settings + ")";
  std::string rank = row.rank > 0 ? std::to_string(row.rank) : "-";
  if (!e.isLegal())
    return {rank, plan, row.subscripts, "-", "-", "-", "-", "-", row.reason};
  std::string least = e.isBound ? ">= " : "";
  return {rank,
          plan,
          row.subscripts,
          e.seconds > 0 ? least + secondsText(e.seconds) : "-",
          row.tokensPerSecond > 0 ? fmt::format("{:.0f}", row.tokensPerSecond)
                                  : "-",
          row.modelUtilisation > 0
              ? fmt::format("{:.1f} %", 100 * row.modelUtilisation)
              : "-",
          e.isBound ? "-" : secondsText(e.exposed),
          least + bytesText(double(e.memory.total)),
          row.reason};
}

static std::string table(const std::vector<Cells> &rows) {
  std::string columns(rows.front().size(), 'r');
  columns[1] = columns[2] = columns.back() = 'l'; // plan, subscripts, reason
  TextTable table(columns);
  for (const Cells &row : rows)
    table.add(row);
  return table.text();
}

/// A note on a row of the bill, or "".
static const char *noteOn(llvm::StringRef name, const MemoryBill &bill) {
  if (name == "saved")
    return "(of the activations, for backward)";
  bool hasCotangents = name == "inputs" && bill.gradients > 0;
  return hasCotangents ? "(with the results' cotangents)" : "";
}

static std::string billText(const Matrix &matrix, const MemoryBill &bill) {
  TextTable table("lrl");
  for (auto [name, bytes] :
       {std::pair("parameters", bill.parameters),
        std::pair("gradients", bill.gradients), std::pair("state", bill.state),
        std::pair("inputs", bill.inputs), std::pair("outputs", bill.outputs),
        std::pair("activations", bill.activations),
        std::pair("saved", bill.savedAtPeak()), std::pair("total", bill.total),
        std::pair("to spare", matrix.margin)})
    if (bytes > 0)
      table.add({name, bytesText(double(bytes)), noteOn(name, bill)});
  return fmt::format("\nMemory of plan 1, per rank, of {}\n",
                     bytesText(double(matrix.options.memoryLimit))) +
         table.text();
}

/// "plans 1 to 3", "plans 1, 2 and 5".
static std::string ranksText(const std::vector<int64_t> &ranks) {
  if (ranks.back() - ranks.front() + 1 == int64_t(ranks.size()))
    return fmt::format("plans {} {} {}", ranks.front(),
                       ranks.size() == 2 ? "and" : "to", ranks.back());
  return fmt::format("plans {} and {}",
                     fmt::join(ranks.begin(), ranks.end() - 1, ", "),
                     ranks.back());
}

/// "  by bounds alone 412 plans ... the least bound, 5.81 s, is of PP 2, with
/// 256 devices left to divide".
static std::string openText(const Matrix &matrix) {
  const SearchResult &result = *matrix.result;
  if (result.open.empty())
    return "";
  const OpenPlan &least = result.open.front();
  std::string of = least.candidate.axes.empty() ? "the whole space"
                                                : matrix.openNames.front();
  if (!least.candidate.axes.empty() && least.devicesLeft > 1)
    of +=
        fmt::format(", with {} left to divide", devicesText(least.devicesLeft));
  return fmt::format(
      "  by bounds alone {} may be faster; the least bound, {}, is of {}\n",
      result.numOpen == 1
          ? "one plan or part of one"
          : fmt::format("{} plans and parts of plans", result.numOpen),
      secondsText(least.bound.seconds), of);
}

/// "0.3 %"; a small gap is "below 0.1 %", not 0.
static std::string gapText(double gap) {
  constexpr double shown = 0.0005;
  return gap < shown ? "below 0.1 %" : fmt::format("{:.1f} %", 100 * gap);
}

static std::string tiesText(const Matrix &matrix) {
  return matrix.ties.empty()
             ? ""
             : fmt::format("  {} are within the error of {}: any of them may "
                           "be the fastest\n",
                           ranksText(matrix.ties), errorText(matrix.tieError));
}

std::string tpsp::planner::claimText(const Matrix &matrix) {
  const std::string plans = plansText(matrix.options.space);
  double gap = matrix.result->state.gap;
  if (!matrix.options.calibration.empty())
    return matrix.options.calibration +
           "  the search went by times and bytes that are not calibrated: a "
           "plan that it left out may be faster, or fit\n" +
           tiesText(matrix) +
           "  the space: " + spaceText(matrix.options.space) + "\n";
  std::string text =
      gap > 0 ? fmt::format("  gap {}: no plan {} can be faster by more; give "
                            "more time for less\n",
                            gapText(gap), plans) +
                    openText(matrix)
              : fmt::format("  gap 0: no plan {} is faster\n", plans);
  return text + tiesText(matrix) +
         "  the space: " + spaceText(matrix.options.space) + "\n";
}

static std::string searchText(const Matrix &matrix) {
  const SearchResult &result = *matrix.result;
  const SearchState &state = result.state;
  std::string text =
      fmt::format("\nSearched in {:.2f} s: {} evaluations, {} "
                  "plans refused by the compiler\n",
                  state.seconds, state.evaluations, result.illegal);
  text += fmt::format("  went by their bounds: {} as too slow, {} as too "
                      "large; {} had too few micro-batches for their stages, "
                      "{} were another plan's\n",
                      result.tooSlow, result.tooLarge, result.uncut,
                      result.symmetric);
  const Evaluation *best = result.best(matrix.options.memoryLimit);
  if (best && best->isComposed && matrix.options.calibration.empty())
    text += fmt::format("  plan 1 is composed of layers, to {}: there was no "
                        "time to compile it whole\n",
                        errorText(best->error.time()));
  if (best && best->isSerial)
    text += "  plan 1 is without overlap: there was no time to schedule it, "
            "and with it the step is no longer\n";
  if (result.seen.time() > 0 || result.seen.memory() > 0)
    text += fmt::format("  composed of layers; of {} compiled whole, times "
                        "differ by at most {:.1f} %, memory by {:.1f} %\n",
                        result.finalists, 100 * result.seen.time(),
                        100 * result.seen.memory());
  return best ? text + claimText(matrix) : text;
}

std::string tpsp::planner::toText(const Matrix &matrix) {
  const MatrixOptions &o = matrix.options;
  std::string text = fmt::format(
      "Plans for {} on {} of {}, {} each{}\n\n", o.program,
      devicesText(o.devices), o.hardware, bytesText(double(o.memoryLimit)),
      o.profile.empty() ? "" : ", steps by the profile " + o.profile);
  std::vector<Cells> rows = {{"", "plan", "subscripts", "step", "tokens/s",
                              "MFU", "exposed", "memory", "why not first"}};
  for (const MatrixRow &row : matrix.rows)
    rows.push_back(cellsOf(row));
  if (o.hasProfiledMemory) {
    rows[0] = beforeReason(rows[0], {o.profile + " allocates", "reserves"});
    for (auto [cells, row] : llvm::zip(llvm::drop_begin(rows), matrix.rows))
      cells = beforeReason(cells, profiledCells(row.evaluation->memory));
  }
  text += matrix.rows.empty() ? "  no plan was compiled\n" : table(rows);
  if (!matrix.rows.empty() && matrix.rows.front().rank == 1)
    text += billText(matrix, matrix.rows.front().evaluation->memory);
  if (!o.keptScores.empty())
    text += fmt::format("\n{}\n", fmt::join(o.keptScores, "\n"));
  return text + searchText(matrix);
}
