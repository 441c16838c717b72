/// Shows what was planned, predicted, measured or checked as a page for
/// browsers: one file that loads nothing else. It has the matrix of plans, the
/// picture of a step, its memory, its equations and its ledger. The page of a
/// check has the findings, the equations and the model's text.
///
/// The page is a template (lib/Runtime/Driver/Page) that is embedded in this
/// library. It draws the JSON that is inserted into it; docs/Planner.md lists
/// the keys.
#ifndef TPSP_RUNTIME_DRIVER_PAGE_PAGE_H
#define TPSP_RUNTIME_DRIVER_PAGE_PAGE_H

#include "tpsp/Abi/StepTrace.h"

#include <string>
#include <utility>
#include <vector>

namespace tpsp::rt {

/// A step that the page shows.
struct PageStep {
  /// The step's report as `tpsp-run --report` writes it: JSON text.
  std::string report;
  /// If the trace has no ranks, the page shows no picture of the step.
  StepTrace trace;
  /// The output of `tpsp-opt --tpsp-explain` for it; may be empty.
  std::string explanation;
  /// The step's position among the matrix's plans; -1 if there is no matrix.
  int64_t plan = -1;
};

/// Makes the page, which is well-formed whatever bytes names contain. `matrix`
/// is the output of `tpsp-plan --json`, or "". For long steps the page has only
/// the longest commands, and for long lists only the first rows; it says so.
std::string toPage(const std::string &matrix,
                   const std::vector<PageStep> &steps);

/// A heading and its text.
using PageFact = std::pair<std::string, std::string>;

/// A finding of a check, in words.
struct PageFinding {
  /// "grad:gain: the sum over tp is missing".
  std::string title;
  std::vector<PageFact> facts;
  /// The mesh axes that it is about; may be empty.
  std::vector<std::string> axes;
  /// The program's collective ("all_reduce of g[gain] over tp: ...") and the
  /// line of the model ("layer.mlir:5:8"). They may be empty.
  std::string collective, location;
  /// Whether something is wrong; else it is undecided, or costs time alone.
  bool isWrong = false;
};

/// The result of a check.
struct PageCheck {
  /// "numbers of dump".
  std::string title;
  /// The answer: a word or two, and a line.
  std::string outcome, answer;
  std::vector<PageFact> facts;
  std::vector<PageFinding> findings;
  /// Sentences.
  std::vector<std::string> notes;
  /// The output of `tpsp-check --json`.
  std::string report;
};

/// The program of a check.
struct PageModel {
  /// The path by which locations name the file, and the file's text.
  std::string path, text;
  /// The output of `tpsp-opt --tpsp-explain` for it.
  std::string explanation;
};

/// Makes the page of checks of one program. Without a program, `model` is
/// empty.
std::string toPage(const PageModel &model,
                   const std::vector<PageCheck> &checks);

/// Replaces the marker TPSP_PAGE_DATA in `page` by `json`. The text is escaped
/// so that it cannot end the element that holds it.
std::string fillPage(const std::string &page, const std::string &json);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PAGE_PAGE_H
