! SPDX-License-Identifier: Apache-2.0
! The C interface of libbraze that the Fortran module uses (client/c/braze.h).
module braze_c
   use, intrinsic :: iso_c_binding
   implicit none

   type, bind(c) :: c_error
      integer(c_int) :: code = 0
      character(kind=c_char) :: text(256) = c_null_char
   end type

   type, bind(c) :: c_scalar
      integer(c_int) :: dtype = 0, weak = 0
      integer(c_int64_t) :: bits(2) = 0
   end type

   type, bind(c) :: c_arg
      type(c_ptr) :: array = c_null_ptr
      type(c_scalar) :: scalar
   end type

   type, bind(c) :: c_kernel_arg
      type(c_ptr) :: array = c_null_ptr, data = c_null_ptr
      integer(c_int) :: dtype = 0, ndim = 0, readonly = 0
      type(c_ptr) :: shape = c_null_ptr, strides = c_null_ptr
      type(c_scalar) :: scalar
   end type

   type, bind(c) :: c_parameter
      type(c_ptr) :: name = c_null_ptr
      integer(c_int) :: dtype = 0, ndim = 0, written = 0, result = 0
   end type

   ! The key of a generator of random numbers, any one, and the number of its next draw.
   type, bind(c) :: braze_random_t
      integer(c_int64_t) :: key = 0, draw = 0
   end type

   type, bind(c) :: c_published
      integer(c_int64_t) :: version = 0, copied = 0
      character(kind=c_char) :: key(33) = c_null_char
   end type

   type, bind(c) :: c_options
      integer(c_size_t) :: size = 0
      type(c_ptr) :: socket = c_null_ptr, name = c_null_ptr, device = c_null_ptr
      integer(c_int) :: flags = 0
      type(c_ptr) :: file = c_null_ptr, environment = c_null_ptr
   end type

   interface
      integer(c_int) function c_connect(out, opt, err) bind(c, name='braze_connect')
         import
         type(c_ptr), intent(out) :: out
         type(c_options), intent(in) :: opt
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_set_device(s, name, err) bind(c, name='braze_set_device')
         import
         type(c_ptr), value :: s, name
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_set_precision(s, name, err) bind(c, name='braze_set_precision')
         import
         type(c_ptr), value :: s, name
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_publish(out, a, name, to, check, data, err) bind(c, name='braze_publish')
         import
         type(c_published), intent(inout) :: out
         type(c_ptr), value :: a, name, to, data
         type(c_funptr), value :: check
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_unpublish(s, name, err) bind(c, name='braze_unpublish')
         import
         type(c_ptr), value :: s, name
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_open(out, version, s, name, err) bind(c, name='braze_open')
         import
         type(c_ptr), intent(out) :: out
         integer(c_int64_t), intent(inout) :: version
         type(c_ptr), value :: s, name
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_set_shared(s, on, err) bind(c, name='braze_set_shared')
         import
         type(c_ptr), value :: s
         integer(c_int), value :: on
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_session_name(s, name, err) bind(c, name='braze_session_name')
         import
         type(c_ptr), value :: s, name
         type(c_error), intent(inout) :: err
      end function

      subroutine c_watch_errors(s, raise, report, tell, data) bind(c, name='braze_watch_errors')
         import
         type(c_ptr), value :: s, data
         integer(c_int), value :: raise, report
         type(c_funptr), value :: tell
      end subroutine

      subroutine c_close(s) bind(c, name='braze_close')
         import
         type(c_ptr), value :: s
      end subroutine

      integer(c_int) function c_from_data(out, s, dtype, ndim, shape, strides, data, err) &
         bind(c, name='braze_from_data')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: s, strides, data
         integer(c_int), value :: dtype, ndim
         integer(c_int64_t), intent(in) :: shape(*)
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_alloc(out, data, s, dtype, ndim, shape, err) &
         bind(c, name='braze_alloc')
         import
         type(c_ptr), intent(out) :: out, data
         type(c_ptr), value :: s
         integer(c_int), value :: dtype, ndim
         integer(c_int64_t), intent(in) :: shape(*)
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_full(out, s, dtype, ndim, shape, value, err) &
         bind(c, name='braze_full')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: s
         integer(c_int), value :: dtype, ndim
         integer(c_int64_t), intent(in) :: shape(*)
         type(c_scalar), value :: value
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_arange(out, s, dtype, n, start, step, err) &
         bind(c, name='braze_arange')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: s
         integer(c_int), value :: dtype
         integer(c_int64_t), value :: n
         type(c_scalar), value :: start, step
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_kernel_create(out, text, length, err) bind(c, name='braze_kernel_create')
         import
         type(c_ptr), intent(out) :: out
         character(kind=c_char), intent(in) :: text(*)
         integer(c_size_t), value :: length
         type(c_error), intent(inout) :: err
      end function

      subroutine c_kernel_free(k) bind(c, name='braze_kernel_free')
         import
         type(c_ptr), value :: k
      end subroutine

      integer(c_int) function c_kernel_parameter(out, k, i) bind(c, name='braze_kernel_parameter')
         import
         type(c_parameter), intent(inout) :: out
         type(c_ptr), value :: k
         integer(c_int), value :: i
      end function

      integer(c_int) function c_kernel_call(results, k, nargs, args, check, data, err) &
         bind(c, name='braze_kernel_call')
         import
         type(c_scalar), intent(inout) :: results(*)
         type(c_ptr), value :: k, data
         integer(c_int), value :: nargs
         type(c_kernel_arg), intent(in) :: args(*)
         type(c_funptr), value :: check
         type(c_error), intent(inout) :: err
      end function

      subroutine c_release(a) bind(c, name='braze_release')
         import
         type(c_ptr), value :: a
      end subroutine

      integer(c_int64_t) function c_serial(a) bind(c, name='braze_serial')
         import
         type(c_ptr), value :: a
      end function

      integer(c_int) function c_dtype_of(a) bind(c, name='braze_dtype_of')
         import
         type(c_ptr), value :: a
      end function

      integer(c_int) function c_ndim(a) bind(c, name='braze_ndim')
         import
         type(c_ptr), value :: a
      end function

      type(c_ptr) function c_shape(a) bind(c, name='braze_shape')
         import
         type(c_ptr), value :: a
      end function

      integer(c_int) function c_slice(out, a, start, count, step, err) bind(c, name='braze_slice')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: a
         integer(c_int64_t), intent(in) :: start(*), count(*), step(*)
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_transpose(out, a, axes, err) bind(c, name='braze_transpose')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: a, axes
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_reshape(out, a, ndim, shape, err) bind(c, name='braze_reshape')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: a
         integer(c_int), value :: ndim
         integer(c_int64_t), intent(in) :: shape(*)
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_op_find(name) bind(c, name='braze_op_find')
         import
         character(kind=c_char), intent(in) :: name(*)
      end function

      integer(c_int) function c_apply(out, s, op, nargs, args, err) bind(c, name='braze_apply')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: s
         integer(c_int), value :: op, nargs
         type(c_arg), intent(in) :: args(*)
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_unary(out, op, a, err) bind(c, name='braze_unary')
         import
         type(c_ptr), intent(out) :: out
         integer(c_int), value :: op
         type(c_ptr), value :: a
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_reduce(out, op, a, axes, keepdims, dtype, err) &
         bind(c, name='braze_reduce')
         import
         type(c_ptr), intent(out) :: out
         integer(c_int), value :: op, axes, keepdims, dtype
         type(c_ptr), value :: a
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_scan(out, op, a, axis, dtype, err) bind(c, name='braze_scan')
         import
         type(c_ptr), intent(out) :: out
         integer(c_int), value :: op, axis, dtype
         type(c_ptr), value :: a
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_concatenate(out, n, parts, axis, dtype, err) bind(c, name='braze_concatenate')
         import
         type(c_ptr), intent(out) :: out
         integer(c_int), value :: n, axis, dtype
         type(c_ptr), intent(in) :: parts(*)
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_random_uniform(out, s, r, dtype, ndim, shape, low, high, err) &
         bind(c, name='braze_random_uniform')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: s
         type(braze_random_t), intent(inout) :: r
         integer(c_int), value :: dtype, ndim
         integer(c_int64_t), intent(in) :: shape(*)
         real(c_double), value :: low, high
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_random_normal(out, s, r, dtype, ndim, shape, mean, deviation, err) &
         bind(c, name='braze_random_normal')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: s
         type(braze_random_t), intent(inout) :: r
         integer(c_int), value :: dtype, ndim
         integer(c_int64_t), intent(in) :: shape(*)
         real(c_double), value :: mean, deviation
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_sort(out, op, a, axis, err) bind(c, name='braze_sort')
         import
         type(c_ptr), intent(out) :: out
         integer(c_int), value :: op, axis
         type(c_ptr), value :: a
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_matmul(out, a, b, err) bind(c, name='braze_matmul')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: a, b
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_cast(out, a, dtype, err) bind(c, name='braze_cast')
         import
         type(c_ptr), intent(out) :: out
         type(c_ptr), value :: a
         integer(c_int), value :: dtype
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_assign(dst, src, err) bind(c, name='braze_assign')
         import
         type(c_ptr), value :: dst
         type(c_arg), value :: src
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_demand(out, n, arrays, err) bind(c, name='braze_demand')
         import
         type(c_ptr), intent(out) :: out
         integer(c_int), value :: n
         type(c_ptr), intent(in) :: arrays(*)
         type(c_error), intent(inout) :: err
      end function

      subroutine c_future_release(f) bind(c, name='braze_future_release')
         import
         type(c_ptr), value :: f
      end subroutine

      integer(c_int) function c_data(data, a, check, cdata, err) bind(c, name='braze_data')
         import
         type(c_ptr), intent(out) :: data
         type(c_ptr), value :: a, cdata
         type(c_funptr), value :: check
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_fence(data, a, check, cdata, err) bind(c, name='braze_fence')
         import
         type(c_ptr), intent(out) :: data
         type(c_ptr), value :: a, cdata
         type(c_funptr), value :: check
         type(c_error), intent(inout) :: err
      end function

      integer(c_int) function c_read(dst, a, err) bind(c, name='braze_read')
         import
         type(c_ptr), value :: dst, a
         type(c_error), intent(inout) :: err
      end function
   end interface
end module
