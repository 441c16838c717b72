// All products of a transformer block are matrix products without a transpose
// copy: projections, attention and MLP, with all their gradients.
#include "ExamplePlan.h"

#include "tpsp/Algebra/MatmulForm.h"
#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tpsp;

/// Expects that no product needs a transpose copy, and that products of the
/// forward pass and their gradients are matrix products. A product has two
/// gradients. One of them may be an elementwise product instead, for the
/// weights of an expert's results. The gradient of a gain, a sum of elementwise
/// products, is no matrix product.
static void expectForms(const std::string &name, int64_t ranks) {
  Example example(name, Example::Stage::Local, ranks);
  ASSERT_TRUE(bool(example)) << example.takeMessages();
  int forward = 0, matmuls = 0;
  example.module().walk([&](IndexedOpInterface op) {
    // A sum of a single tensor is no product.
    std::optional<Factors> factors = factorsOf(op);
    if (!factors)
      return;
    IndexStructure structure = op.getIndexStructure();
    MatmulObstacle obstacle =
        factors->chosen
            ? matchGroupedMatmul(structure, *factors->chosen).obstacle
            : matchMatmul(structure).obstacle;
    forward += !isBackward(op);
    matmuls += obstacle == MatmulObstacle::None;
    EXPECT_NE(int(obstacle), int(MatmulObstacle::Layout))
        << subscripts(op->getOperand(0).getType()) << " . "
        << subscripts(op->getOperand(1).getType()) << " = "
        << subscripts(op->getResult(0).getType());
  });
  EXPECT_GE(forward, 2);
  // One of the layers' four products each, the weighted sum of the experts'
  // results, has a vector for every token.
  int vectors = StringRef(name).starts_with("moe") ? 2 : 0;
  EXPECT_EQ(matmuls, 3 * (forward - vectors));
}

TEST(ExampleMatmulTest, EveryProductOfTheExamplesIsOne) {
  for (const std::string &name : exampleNames())
    for (int64_t ranks : {1, 2, 4, 8}) {
      SCOPED_TRACE(name + " on " + std::to_string(ranks) + " ranks");
      expectForms(name, ranks);
    }
}
