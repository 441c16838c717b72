// Headers that every test includes, precompiled (TpspHelpers.cmake).
#include "CommonHeaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
