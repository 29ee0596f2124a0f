# Debian packages, made of what is installed: `make debs`, which is cpack with build/default/CPackConfig.cmake; `make
# arm64-debs` likewise. A package is a component of `cmake --install`; packaging/debs/finish.cmake adds what only packages
# have. None where nobody knows of the libraries that are linked which package they are of.
if(NOT EXISTS ${CMAKE_SYSROOT}/var/lib/dpkg/status)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Wharf)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each has its own
set(CPACK_PACKAGE_CONTACT "Wharf <wharf@debian.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/debs)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
# As `cmake --install --prefix /usr`, so that /etc is /etc.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/debs/finish.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib/wharf)
set(CPACK_WHARF_STRIP ${CMAKE_STRIP})
set(CPACK_WHARF_SYSROOT ${CMAKE_SYSROOT})
if(CMAKE_SYSROOT)
  execute_process(COMMAND dpkg-architecture -t${CMAKE_LIBRARY_ARCHITECTURE} -qDEB_HOST_ARCH
                  OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  foreach(folder lib usr/lib)
    list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/${folder}/${CMAKE_LIBRARY_ARCHITECTURE})
  endforeach()
endif()
set(CPACK_COMPONENTS_ALL)
set(dev_packages libabsl-dev libfmt-dev libssl-dev liblz4-dev libzstd-dev libxxhash-dev zlib1g-dev nlohmann-json3-dev
  libpng-dev libturbojpeg0-dev libonnx-dev libprotobuf-dev libtorch-dev libeigen3-dev libopencv-core-dev
  libopencv-imgproc-dev libopencv-video-dev libopencv-calib3d-dev libopencv-features2d-dev libopencv-imgcodecs-dev
  libopencv-videoio-dev)
set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# CONTROL: files in debs/PACKAGE. ABOUT: its first line, and the others. ALL: for every architecture.
function(wharf_deb component package)
  cmake_parse_arguments(ARG "ALL" "SECTION;DEPENDS;RECOMMENDS;SUGGESTS" "CONTROL;ABOUT" ${ARGN})
  string(TOUPPER ${component} name)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${ARG_DEPENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_RECOMMENDS "${ARG_RECOMMENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_SUGGESTS "${ARG_SUGGESTS}" PARENT_SCOPE)
  list(JOIN ARG_ABOUT "\n" about)
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${about}" PARENT_SCOPE)
  list(TRANSFORM ARG_CONTROL PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/debs/${package}/)
  set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA "${ARG_CONTROL}" PARENT_SCOPE)
  if(ARG_ALL)
    set(CPACK_DEBIAN_${name}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
  else()
    set(CPACK_DEBIAN_${name}_PACKAGE_SHLIBDEPS ON PARENT_SCOPE)
  endif()
endfunction()

wharf_deb(device wharf-device SECTION net
  SUGGESTS "wharf-server, avahi-daemon, avahi-utils"
  ABOUT "CUDA programs on another machine's GPU: the device's side"
        "Runs unmodified CUDA programs on a GPU server at the edge of a wireless"
        "network, or on that server's processor. This is what the device needs:"
        "the program wharf, and libraries in place of CUDA's. No GPU, no driver"
        "and no CUDA is needed here.")
if(WHARF_MODELS)
  wharf_deb(models wharf-models SECTION net
    DEPENDS "wharf-device ${same}"
    ABOUT "Neural networks that a device and a server compute together"
          "Splits the inference of an ONNX model between a weak device and a"
          "server, inside its layers; finds depth, pose and boxes in a camera's"
          "frames; serves models on pools of machines. Needed on both sides."
          "Also for servers: what plans pipelines, and data of the benchmarks.")
endif()
if(WHARF_SERVES)
  wharf_deb(wharf wharf-server SECTION net
    DEPENDS "wharf-device ${same}, systemd | systemd-standalone-sysusers"
    RECOMMENDS "wharf-models ${same}" SUGGESTS "openssl, avahi-daemon, avahi-utils"
    CONTROL conffiles postinst prerm postrm
    ABOUT "CUDA programs on another machine's GPU: the server"
          "Serves this machine's GPU, or its processor, to programs on other"
          "machines, each in a sandboxed process of its own. With a service for"
          "systemd, which is not started before somebody enables it.")
endif()
if(WHARF_MODELS)
  # Whose headers and libraries it passes on (WharfConfig.cmake).
  list(JOIN dev_packages ", " dev_needs)
  wharf_deb(dev libwharf-dev SECTION libdevel
    DEPENDS "${dev_needs}"
    ABOUT "Wharf's libraries for C++ programs"
          "Headers, static libraries in C++20, and what CMake and pkg-config find"
          "of them: connections to Wharf's servers, models that device and server"
          "compute together, clients of AR servers.")
endif()
if(NOT WHARF_DEVICE_ONLY)
  wharf_deb(python python3-wharf SECTION python ALL
    DEPENDS "python3 (>= 3.8), python3-numpy, wharf-models ${same}"
    CONTROL postinst prerm
    ABOUT "Wharf's models for Python programs"
          "Models that this machine and a server at the wireless edge compute"
          "together, in the shape of ONNX Runtime's sessions; modules of PyTorch"
          "in one line; CUDA programs in Python on another machine's GPU.")
endif()
include(CPack)
