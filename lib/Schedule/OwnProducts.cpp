#include "tpsp/Schedule/OwnProducts.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

namespace {

using Commands = OwnProducts;

/// Finds the products that run next to collectives of the backward pass.
class PairFinder {
public:
  PairFinder(const Plan &plan, const OverlapProblem &problem)
      : plan(plan), problem(problem), partners(plan.commands.size()),
        place(plan.commands.size()), before(plan.commands.size()),
        readers(plan.buffers.size()), writers(plan.buffers.size()) {
    for (size_t i = 0; i < place.size(); ++i) {
      place[i] = int64_t(i);
      for (int64_t earlier : problem.commands[i].after)
        before[earlier].push_back(int64_t(i));
    }
    for (auto [i, command] : llvm::enumerate(plan.commands))
      for (const PlanAccess &access : command.accesses)
        (access.isWrite ? writers : readers)[access.buffer].push_back(i);
  }

  /// For each command, the products that run next to it, in order.
  std::vector<Commands> find() {
    for (size_t i = 0; i < plan.commands.size(); ++i)
      if (isBackward(plan.commands[i]))
        pair(int64_t(i));
    return std::move(partners);
  }

private:
  static constexpr int64_t none = -1;

  bool isBackward(const PlanCommand &command) const {
    int64_t row = command.collective.row;
    return command.kind == CommandKind::Collective && row >= 0 &&
           plan.ledger[row].phase == Phase::Backward;
  }

  bool reads(int64_t i, int64_t buffer) const {
    return llvm::any_of(plan.commands[i].accesses,
                        [&](const PlanAccess &access) {
                          return access.buffer == buffer && !access.isWrite;
                        });
  }

  bool isProduct(int64_t i) const {
    return plan.commands[i].kind == CommandKind::Matmul;
  }

  /// The last command that writes a buffer before `i`; -1 if there is none.
  int64_t writerOf(int64_t buffer, int64_t i) const {
    auto next = llvm::lower_bound(writers[buffer], i);
    return next == writers[buffer].begin() ? none : *std::prev(next);
  }

  void addProducts(int64_t i, Commands &products) const {
    if (i >= 0 && isProduct(i))
      products.push_back(i);
  }

  /// The products whose results, perhaps added up, the collective reads, or the
  /// first product that reads its result.
  Commands ownProducts(int64_t collective) const {
    Commands products;
    for (const PlanAccess &access : plan.commands[collective].accesses) {
      if (access.isWrite) {
        const std::vector<int64_t> &users = readers[access.buffer];
        auto next = llvm::upper_bound(users, collective);
        if (next != users.end())
          addProducts(*next, products);
        continue;
      }
      int64_t writer = writerOf(access.buffer, collective);
      addProducts(writer, products);
      if (writer < 0 || plan.commands[writer].kind != CommandKind::Kernel)
        continue;
      for (const PlanAccess &summand : plan.commands[writer].accesses)
        if (!summand.isWrite)
          addProducts(writerOf(summand.buffer, writer), products);
    }
    return products;
  }

  /// Pairs the collective with other products of the same gradients that may
  /// run in its place.
  void pair(int64_t collective) {
    Commands products = ownProducts(collective);
    for (int64_t i : neighbours(collective))
      if (isProduct(i) && place[i] == i && !llvm::is_contained(products, i) &&
          sharesGradient(i, products) && mayRunBeside(i, collective)) {
        partners[collective].push_back(i);
        place[i] = collective;
      }
    llvm::sort(partners[collective]);
  }

  /// Whether product `i` reads a buffer that one of `products` reads.
  bool sharesGradient(int64_t i, const Commands &products) const {
    return llvm::any_of(products, [&](int64_t own) {
      return llvm::any_of(plan.commands[own].accesses,
                          [&](const PlanAccess &access) {
                            return !access.isWrite && reads(i, access.buffer);
                          });
    });
  }

  /// Commands near `collective`, nearest first.
  std::vector<int64_t> neighbours(int64_t collective) const {
    constexpr int64_t reach = 16;
    std::vector<int64_t> near;
    for (int64_t distance = 1; distance <= reach; ++distance)
      for (int64_t i : {collective - distance, collective + distance})
        if (i >= 0 && i < int64_t(plan.commands.size()) &&
            plan.commands[i].phase == plan.commands[collective].phase)
          near.push_back(i);
    return near;
  }

  /// Whether the product's predecessors come before the collective, and its
  /// successors after it.
  bool mayRunBeside(int64_t product, int64_t collective) const {
    auto isBefore = [&](int64_t i) { return place[i] < collective; };
    auto isBehind = [&](int64_t i) { return place[i] > collective; };
    return llvm::all_of(problem.commands[product].after, isBefore) &&
           llvm::all_of(before[product], isBehind);
  }

  const Plan &plan;
  const OverlapProblem &problem;
  std::vector<Commands> partners;
  /// The place of each command: the command next to which it runs, or its own
  /// position.
  std::vector<int64_t> place;
  /// For each command, its successors.
  std::vector<Commands> before;
  /// By buffer, in order.
  std::vector<std::vector<int64_t>> readers, writers;
};

} // namespace

std::vector<OwnProducts> tpsp::findOwnProducts(const Plan &plan,
                                               const OverlapProblem &problem) {
  return PairFinder(plan, problem).find();
}
