/// Operations that may run with a padded index. See TailInterface.td.
#ifndef TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_H
#define TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_H

#include "tpsp/Dialect/Tpsp/Tails/Tail.h"

#include "mlir/IR/OpDefinition.h"

#include "tpsp/Dialect/Tpsp/Tails/TailInterface.h.inc"

#endif // TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_H
