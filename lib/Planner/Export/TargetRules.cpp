// Which plans a target takes, by its rules (Targets.cpp), and why not.
#include "tpsp/Planner/Target.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/args.h>
#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::planner;

using Known = TargetRule::Known;

std::vector<std::string> tpsp::planner::targetWords() {
  std::vector<std::string> words;
  for (const Target &target : targets())
    words.emplace_back(target.name);
  return words;
}

const Target *tpsp::planner::findTarget(llvm::StringRef word) {
  const Target *found =
      llvm::find_if(targets(), [&](const Target &t) { return word == t.name; });
  return found == targets().end() ? nullptr : found;
}

const TargetOrder *tpsp::planner::meshOrderOf(const Target &target,
                                              const UsualTerms &terms) {
  const TargetOrder *found =
      llvm::find_if(target.orders, [&](const TargetOrder &order) {
        return terms.isInOrder(order.kinds);
      });
  return found == target.orders.end() ? nullptr : found;
}

std::vector<std::string> tpsp::planner::notesOn(const Target &target,
                                                const UsualTerms &terms) {
  std::vector<std::string> notes;
  for (const TargetNote &note : target.notes)
    if (note.applies(terms))
      notes.push_back(fmt::format("{} {}", target.title, note.text));
  return notes;
}

static const TargetRule *brokenRule(const Target &target,
                                    const UsualTerms &terms,
                                    llvm::ArrayRef<Known> known) {
  for (llvm::ArrayRef<TargetRule> rules : {target.rules, target.furtherRules})
    for (const TargetRule &rule : rules)
      if (llvm::is_contained(known, rule.known) && rule.isBroken(terms))
        return &rule;
  return nullptr;
}

/// The clause with the plan's numbers.
static std::string withNumbers(const char *clause, const UsualTerms &terms) {
  fmt::dynamic_format_arg_store<fmt::format_context> numbers;
  for (auto [name, number] :
       {std::pair("chunks", terms.chunks()), std::pair("layers", terms.layers),
        std::pair("stage_chunks", terms.settings.chunks),
        std::pair("micro_batches", terms.settings.microBatches),
        std::pair("pipeline", terms.pipeline),
        std::pair("context", terms.context), std::pair("tensor", terms.tensor),
        std::pair("key_heads", terms.keyHeads),
        std::pair("sequence", terms.sequence)})
    numbers.push_back(fmt::arg(name, number));
  return fmt::vformat(clause, numbers);
}

static std::string sentenceOf(const Target &target, const TargetRule &rule,
                              const UsualTerms &terms) {
  return target.title + withNumbers(rule.why, terms) + "; " + rule.wayOut;
}

std::string tpsp::planner::whyNot(const Target &target,
                                  const Candidate &candidate,
                                  const ProgramFacts &facts,
                                  const TermNames &names) {
  UsualTerms terms = usualTerms(candidate, facts, names);
  if (terms.problem)
    return fmt::format("{} has no word for axis @{}, which {}", target.title,
                       terms.axis, terms.problem);
  if (const TargetRule *rule =
          brokenRule(target, terms, {Known::Early, Known::Whole, Known::Set}))
    return sentenceOf(target, *rule, terms);
  if (!meshOrderOf(target, terms))
    return target.title + std::string(target.otherOrder);
  return "";
}

std::string Reader::keepTaken(std::vector<Settings> &settings,
                              const ProgramFacts &facts) const {
  if (!target || settings.empty())
    return "";
  Candidate first;
  first.settings = settings.front();
  llvm::erase_if(settings, [&](const Settings &each) {
    return !takesSettings({}, each, facts);
  });
  if (!settings.empty())
    return "";
  UsualTerms terms = usualTerms(first, facts, names);
  return sentenceOf(*target, *brokenRule(*target, terms, {Known::Set}), terms);
}

bool Reader::mayTake(const Candidate &outer, const ProgramFacts &facts) const {
  if (!target)
    return true;
  UsualTerms terms = usualTerms(outer, facts, names);
  return !terms.problem && !brokenRule(*target, terms, {Known::Early}) &&
         meshOrderOf(*target, terms);
}

bool Reader::takesAxes(const Candidate &candidate,
                       const ProgramFacts &facts) const {
  if (!target)
    return true;
  UsualTerms terms = usualTerms(candidate, facts, names);
  return !terms.problem &&
         !brokenRule(*target, terms, {Known::Early, Known::Whole}) &&
         meshOrderOf(*target, terms);
}

bool Reader::takesSettings(const Candidate &outer, const Settings &settings,
                           const ProgramFacts &facts) const {
  if (!target)
    return true;
  Candidate with = outer;
  with.settings = settings;
  return !brokenRule(*target, usualTerms(with, facts, names), {Known::Set});
}
