#include "wharf/cudashim/cuda/context_storage.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace wharf::cudashim {
namespace {

int places[8];
void* const kContext = &places[0];
void* const kOther = &places[1];
void* const kKey = &places[2];
void* const kValue = &places[3];

std::vector<std::pair<void*, void*>> destroyed;
ContextStorage* in_callback = nullptr;
void Note(void* context, void* key, void* value) {
  EXPECT_EQ(context, kContext);
  destroyed.emplace_back(key, value);
  if (in_callback != nullptr) in_callback->Put(context, key, kOther, Note);
}

void* ValueOf(ContextStorage& storage, void* context, void* key) {
  void* value = nullptr;
  return storage.Get(context, key, &value) ? value : nullptr;
}

TEST(ContextStorage, KeepsAValueForEachContextAndKey) {
  ContextStorage storage;
  void* value = kOther;
  EXPECT_FALSE(storage.Get(kContext, kKey, &value));
  EXPECT_EQ(value, kOther);
  storage.Put(kContext, kKey, kValue, nullptr);
  EXPECT_EQ(ValueOf(storage, kContext, kKey), kValue);
  EXPECT_EQ(ValueOf(storage, kOther, kKey), nullptr);
  EXPECT_EQ(ValueOf(storage, kContext, kOther), nullptr);
  storage.Put(kContext, kKey, kOther, nullptr);
  EXPECT_EQ(ValueOf(storage, kContext, kKey), kOther);
}

TEST(ContextStorage, WhatIsRemovedIsGoneAndNobodyIsTold) {
  ContextStorage storage;
  destroyed.clear();
  storage.Put(kContext, kKey, kValue, Note);
  storage.Remove(kOther, kKey);
  EXPECT_EQ(ValueOf(storage, kContext, kKey), kValue);
  storage.Remove(kContext, kKey);
  storage.Remove(kContext, kKey);
  EXPECT_EQ(ValueOf(storage, kContext, kKey), nullptr);
  storage.Clear(kContext);
  EXPECT_TRUE(destroyed.empty());
}

TEST(ContextStorage, TellsOfAContextThatIsDestroyedOnce) {
  ContextStorage storage;
  destroyed.clear();
  storage.Put(kContext, kKey, kValue, Note);
  storage.Put(kContext, kOther, kValue, nullptr);
  storage.Put(kOther, kKey, kValue, Note);
  storage.Clear(kContext);
  storage.Clear(kContext);
  const std::vector<std::pair<void*, void*>> once = {{kKey, kValue}};
  EXPECT_EQ(destroyed, once);
  EXPECT_EQ(ValueOf(storage, kContext, kKey), nullptr);
  EXPECT_EQ(ValueOf(storage, kOther, kKey), kValue);
}

TEST(ContextStorage, WhoIsToldMayPutSomethingAgain) {
  ContextStorage storage;
  destroyed.clear();
  storage.Put(kContext, kKey, kValue, Note);
  in_callback = &storage;
  storage.Clear(kContext);
  in_callback = nullptr;
  EXPECT_EQ(destroyed.size(), 1u);
  EXPECT_EQ(ValueOf(storage, kContext, kKey), kOther);
}

}  // namespace
}  // namespace wharf::cudashim
