/// Findings as lines of text.
#ifndef TPSP_LIB_CHECK_FINDINGTEXT_H
#define TPSP_LIB_CHECK_FINDINGTEXT_H

#include "tpsp/Runtime/Driver/Page/Page.h"

#include <fmt/format.h>

#include <string>

namespace tpsp::check {

/// Adds a fact, unless it is empty.
inline void addFact(rt::PageFinding &finding, const char *name,
                    const std::string &text) {
  if (!text.empty())
    finding.facts.push_back({name, text});
}

/// An empty line, the numbered title, and a line for each fact.
inline std::string toText(const rt::PageFinding &finding, size_t number) {
  std::string text = fmt::format("\n{}. {}\n", number, finding.title);
  for (const auto &[name, fact] : finding.facts)
    text += fmt::format("   {:10} {}\n", name, fact);
  return text;
}

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_FINDINGTEXT_H
