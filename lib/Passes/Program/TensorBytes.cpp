#include "TensorBytes.h"

#include "Placed.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"

using namespace mlir;
using namespace tpsp;

double tpsp::wholeBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat())
    return 0;
  double bytes = double(tensor.getElementTypeBitWidth()) / 8;
  for (int64_t extent : tensor.getShape())
    bytes *= double(extent);
  return bytes;
}

void TensorBytes::add(Value tensor, double bytes) {
  all += bytes;
  if (bytes <= largest)
    return;
  largest = bytes;
  largestTensor = tensor;
}

void TensorBytes::add(const TensorBytes &others) {
  double before = all;
  if (others.largestTensor)
    add(others.largestTensor, others.largest);
  all = before + others.all;
}

LogicalResult tpsp::checkBytes(const TensorBytes &bytes, double most,
                               StringRef whose, FunctionOpInterface function) {
  if (bytes.all <= most)
    return success();
  std::string name = nameInSource(bytes.largestTensor);
  return emitErrorAt(function)
         << "the tensors of " << whose << " have " << rt::bytesText(bytes.all)
         << " together, and tpsp counts up to " << rt::bytesText(most)
         << "; the largest is "
         << (name.empty() ? tensorName(bytes.largestTensor) : name) << " with "
         << rt::bytesText(bytes.largest) << ", so make its extents smaller";
}
