// Every program of `wharf run` loads every drop-in library. Abseil's headers include <iostream>, whose initialiser
// would bring the C++ library's streams and locales into each of them, a megabyte that is set up anew for each: half of
// what loading them all takes. No drop-in library uses std::cout and its like, so they go without.
#include <ios>

namespace std {

ios_base::Init::Init() {}
ios_base::Init::~Init() {}

}  // namespace std
