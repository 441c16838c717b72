#include "tpsp/Algebra/Formula.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tpsp;

Formula::Formula(int64_t number) { add({}, number); }

Formula Formula::power(const std::string &name, int exponent) {
  Formula formula;
  Factors factors;
  if (exponent != 0)
    factors.powers[name] = exponent;
  formula.add(factors, 1);
  return formula;
}

Formula Formula::lessOne(std::vector<std::string> names) {
  llvm::sort(names);
  Formula formula;
  formula.add({{}, {std::move(names)}}, 1);
  return formula;
}

void Formula::add(const Factors &factors, int64_t coefficient) {
  int64_t &here = terms[factors];
  here += coefficient;
  if (here == 0)
    terms.erase(factors);
}

Formula &Formula::operator+=(const Formula &other) {
  for (const auto &[factors, coefficient] : other.terms)
    add(factors, coefficient);
  return *this;
}

Formula Formula::operator+(const Formula &other) const {
  Formula sum = *this;
  return sum += other;
}

Formula Formula::operator*(const Formula &other) const {
  Formula product;
  for (const auto &[own, coefficient] : terms)
    for (const auto &[factors, by] : other.terms) {
      Factors both = own;
      for (const auto &[name, exponent] : factors.powers)
        if ((both.powers[name] += exponent) == 0)
          both.powers.erase(name);
      llvm::append_range(both.lessOne, factors.lessOne);
      llvm::sort(both.lessOne);
      product.add(both, coefficient * by);
    }
  return product;
}

double Formula::evaluate(const std::map<std::string, int64_t> &values) const {
  auto valueOf = [&](const std::string &name) {
    auto found = values.find(name);
    return found == values.end() ? 1.0 : double(found->second);
  };
  double sum = 0;
  for (const auto &[factors, coefficient] : terms) {
    auto term = double(coefficient);
    for (const auto &[name, exponent] : factors.powers)
      term *= std::pow(valueOf(name), exponent);
    for (const std::vector<std::string> &names : factors.lessOne) {
      double product = 1;
      for (const std::string &name : names)
        product *= valueOf(name);
      term *= product - 1;
    }
    sum += term;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace tpsp {

/// Writes a formula. Terms with the same divisors and the same factors "minus
/// one" are grouped: their common factor times the sum of the remainders.
class FormulaText {
public:
  using Powers = std::map<std::string, int>;

  FormulaText(const Formula &formula, llvm::ArrayRef<std::string> order)
      : order(order) {
    for (const auto &[factors, coefficient] : formula.terms) {
      Shared shared{factors.lessOne, {}};
      Powers powers;
      for (const auto &[name, exponent] : factors.powers)
        (exponent < 0 ? shared.divisors : powers)[name] = std::abs(exponent);
      groups[shared].push_back({std::move(powers), coefficient});
    }
    for (auto &[shared, terms] : groups)
      llvm::sort(terms, [&](const Term &a, const Term &b) {
        return ranksOf(a.first) < ranksOf(b.first);
      });
  }

  std::string write() const {
    std::string text;
    for (const auto &[shared, terms] : groups) {
      std::string group = writeGroup(shared, terms);
      bool isNegative = group.front() == '-';
      if (!text.empty())
        text += isNegative ? " - " : " + ";
      text += isNegative && text.size() > 3 ? group.substr(1) : group;
    }
    return text.empty() ? "0" : text;
  }

private:
  struct Shared {
    std::vector<std::vector<std::string>> lessOne;
    Powers divisors;
    bool operator<(const Shared &other) const {
      return std::tie(lessOne, divisors) <
             std::tie(other.lessOne, other.divisors);
    }
  };
  using Term = std::pair<Powers, int64_t>;

  size_t rankOf(const std::string &name) const {
    return std::find(order.begin(), order.end(), name) - order.begin();
  }

  std::vector<std::string> sorted(std::vector<std::string> names) const {
    std::stable_sort(names.begin(), names.end(),
                     [&](const std::string &a, const std::string &b) {
                       return std::pair(rankOf(a), a) < std::pair(rankOf(b), b);
                     });
    return names;
  }

  /// The key by which terms are sorted: by their names, higher powers first.
  std::vector<std::tuple<size_t, std::string, int>>
  ranksOf(const Powers &powers) const {
    std::vector<std::tuple<size_t, std::string, int>> ranks;
    for (const auto &[name, exponent] : powers)
      ranks.push_back({rankOf(name), name, -exponent});
    // Terms without names come last.
    if (ranks.empty())
      ranks.push_back({order.size() + 1, "", 0});
    llvm::sort(ranks);
    return ranks;
  }

  /// "b s^2"
  std::vector<std::string> wordsOf(const Powers &powers) const {
    std::vector<std::string> names, words;
    for (const auto &[name, exponent] : powers)
      names.push_back(name);
    for (const std::string &name : sorted(names)) {
      int exponent = powers.at(name);
      words.push_back(exponent == 1 ? name
                                    : name + "^" + std::to_string(exponent));
    }
    return words;
  }

  std::string writeTerm(int64_t coefficient, const Powers &powers) const {
    std::vector<std::string> words = wordsOf(powers);
    if (coefficient != 1 || words.empty())
      words.insert(words.begin(), std::to_string(coefficient));
    return llvm::join(words, " ");
  }

  /// The common factor of all terms.
  static Term shareOf(const std::vector<Term> &terms) {
    Term share = terms.front();
    share.second = 0;
    for (const auto &[powers, coefficient] : terms) {
      share.second = std::gcd(share.second, coefficient);
      for (auto it = share.first.begin(); it != share.first.end();) {
        auto found = powers.find(it->first);
        it->second =
            found == powers.end() ? 0 : std::min(it->second, found->second);
        it = it->second == 0 ? share.first.erase(it) : std::next(it);
      }
    }
    return share;
  }

  std::string writeSum(const std::vector<Term> &terms,
                       const Term &share) const {
    std::string text;
    for (const auto &[powers, coefficient] : terms) {
      Powers rest = powers;
      for (const auto &[name, exponent] : share.first)
        if ((rest[name] -= exponent) == 0)
          rest.erase(name);
      int64_t factor = coefficient / share.second;
      if (!text.empty())
        text += factor < 0 ? " - " : " + ";
      text += writeTerm(text.empty() ? factor : std::abs(factor), rest);
    }
    return text;
  }

  std::string writeGroup(const Shared &shared,
                         const std::vector<Term> &terms) const {
    std::string text;
    if (terms.size() == 1) {
      text = writeTerm(terms.front().second, terms.front().first);
    } else {
      Term share = shareOf(terms);
      bool isAlone = shared.lessOne.empty() && shared.divisors.empty();
      // "9 L + 3", not "3 (3 L + 1)".
      if (isAlone && share.first.empty())
        share.second = 1;
      bool isBare = share.first.empty() && share.second == 1;
      std::string sum = writeSum(terms, share);
      text = !isBare || !isAlone ? "(" + sum + ")" : sum;
      if (!isBare)
        text = writeTerm(share.second, share.first) + " " + text;
    }
    if (text == "1" && !shared.lessOne.empty())
      text.clear();
    for (const std::vector<std::string> &names : shared.lessOne)
      text += (text.empty() ? "(" : " (") + llvm::join(sorted(names), " ") +
              " - 1)";
    return text + writeDivisors(shared.divisors);
  }

  std::string writeDivisors(const Powers &divisors) const {
    std::vector<std::string> words = wordsOf(divisors);
    if (words.empty())
      return "";
    return words.size() == 1 ? "/" + words.front()
                             : "/(" + llvm::join(words, " ") + ")";
  }

  llvm::ArrayRef<std::string> order;
  std::map<Shared, std::vector<Term>> groups;
};

} // namespace tpsp

std::string Formula::text(llvm::ArrayRef<std::string> order) const {
  return FormulaText(*this, order).write();
}
