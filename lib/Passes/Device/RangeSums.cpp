#include "RangeSums.h"

using namespace mlir;
using namespace tpsp;

void RangeSums::emit(Value slot, Value member) {
  const SumLayout &layout = plan.layout;
  Value first = multiply(slot, layout.across);
  Neighbours at;
  at.along = loop.kept.back();
  for (int64_t i = 0; i < layout.across; ++i) {
    at.points.push_back(origin());
    locate(loop.kept, add(first, constant(i)), at.points.back());
  }
  // The part consists of whole groups of neighbours.
  Value valid = isBelow(first, keptPoints());
  std::vector<SmallVector<Value>> sums = sum(valid, member, at);
  for (SmallVector<Value> &each : sums)
    shuffle(each);
  store(slot, member, sums);
}

std::vector<SmallVector<Value>> RangeSums::sum(Value valid, Value member,
                                               const Neighbours &kept) {
  int64_t terms = plan.pointsOf(loop.summed), step = plan.layout.threads;
  // Terms that are loaded before the first is added; wider types have fewer,
  // for want of registers.
  int64_t inFlight = std::max<int64_t>(1, plan.layout.across / 2);
  int64_t whole = terms / (step * inFlight) * (step * inFlight);
  SmallVector<Value> sums;
  for (size_t i = 0; i < kept.points.size(); ++i)
    sums.append(neutralSums());
  auto addTerms = [&](Value begin, int64_t end, int64_t count) {
    sums = forPoints(valueIf(valid, begin, constant(end)), constant(end),
                     step * count, sums, [&](Value number, ValueRange now) {
                       return visitTerms(number, count, kept, now);
                     });
  };
  if (whole > 0)
    addTerms(member, whole, inFlight);
  if (whole < terms)
    addTerms(add(constant(whole), member), terms, 1);
  std::vector<SmallVector<Value>> each;
  for (ArrayRef<Value> rest = sums; !rest.empty();
       rest = rest.drop_front(loop.sums.size()))
    each.emplace_back(rest.take_front(loop.sums.size()));
  return each;
}

SmallVector<Value> RangeSums::visitTerms(Value number, int64_t count,
                                         const Neighbours &kept,
                                         ValueRange sums) {
  std::vector<Neighbours> terms(count, kept);
  std::vector<SmallVector<SmallVector<Value>>> loaded;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Value at = add(number, constant(int64_t(i) * plan.layout.threads));
    for (Point &point : term.points)
      locate(loop.summed, at, point);
    loaded.push_back(elements.load(loop, term));
  }
  SmallVector<Value> now(sums);
  size_t width = loop.sums.size();
  for (auto [term, values] : llvm::zip(terms, loaded))
    for (size_t i = 0; i < term.points.size(); ++i) {
      auto own = MutableArrayRef<Value>(now).slice(i * width, width);
      SmallVector<Value> results =
          elements.compute(loop, term.points[i], values[i], own);
      for (auto [output, sum] : llvm::zip(loop.sums, own))
        sum = results[output];
    }
  return now;
}

void RangeSums::store(Value slot, Value member,
                      ArrayRef<SmallVector<Value>> sums) {
  const SumLayout &layout = plan.layout;
  int64_t points = layout.points * layout.across;
  SmallVector<Value> memory;
  for (Value sum : sums.front())
    memory.push_back(sharedBuffer(
        b, kernel, {shape.items, layout.partials(), points}, sum.getType()));
  Value part = quotient(member, layout.shuffled);
  guarded(isBelow(remainder(member, layout.shuffled), constant(1)), [&] {
    for (auto [i, each] : llvm::enumerate(sums)) {
      Value point = add(multiply(slot, layout.across), constant(int64_t(i)));
      for (auto [sum, buffer] : llvm::zip(each, memory))
        memref::StoreOp::create(b, loc, sum, buffer,
                                ValueRange{thread.itemOfBlock, part, point});
    }
  });
  gpu::BarrierOp::create(b, loc);
  Value number = thread.lane;
  guarded(
      both(isBelow(number, constant(points)), isBelow(number, keptPoints())),
      [&] {
        Point point = origin();
        locate(loop.kept, number, point);
        for (auto [output, buffer, sum] :
             llvm::zip(loop.sums, memory, initials))
          elements.store(loop, output, partsOf(output, buffer, number, sum),
                         {point});
      });
}

Value RangeSums::partsOf(unsigned output, Value buffer, Value point,
                         Value sum) {
  for (int64_t part = 0; part < plan.layout.partials(); ++part)
    sum = combined(output, sum,
                   memref::LoadOp::create(
                       b, loc, buffer,
                       ValueRange{thread.itemOfBlock, constant(part), point}));
  return sum;
}
