# Of what computes models in a build for devices: the tests of clients, and of the Python package by the device's Python.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(here ${CMAKE_CURRENT_LIST_DIR})
set(device_python ${CMAKE_CROSSCOMPILING_EMULATOR} ${CMAKE_SYSROOT}/usr/bin/python3)
add_test(NAME e2e.device_models_test COMMAND ${Python3_EXECUTABLE} ${here}/device_models_test.py)
add_test(NAME e2e.ar_test COMMAND ${Python3_EXECUTABLE} ${here}/ar_test.py Clients)
add_test(NAME e2e.python_test COMMAND ${device_python} ${here}/python_test.py)
add_test(NAME e2e.python_ar_test COMMAND ${device_python} ${here}/python_ar_test.py)
set_tests_properties(e2e.device_models_test e2e.ar_test e2e.python_test e2e.python_ar_test PROPERTIES
  TIMEOUT 1800 ENVIRONMENT "${WHARF_TEST_ENVIRONMENT}")
