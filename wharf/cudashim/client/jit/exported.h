// For the headers that libnvrtc and libnvJitLink include. Every program of `wharf run` loads these libraries, most
// never call them: they need nothing of the C++ library, whose statics would be initialised for each.
#pragma once

#define WHARF_CLIENT_API __attribute__((visibility("default")))  // as in cudashim/client/call.h

// In each of these libraries, so that one never takes another Wharf's for NVIDIA's.
#define WHARF_MARK_DROPIN                              \
  extern "C" WHARF_CLIENT_API const char wharf_dropin; \
  extern "C" const char wharf_dropin = 1
