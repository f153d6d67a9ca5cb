! SPDX-License-Identifier: Apache-2.0
! Module braze: lazy arrays on the braze daemon, for Fortran.
!
! Arrays are column-major as in Fortran: libbraze gets the extents reversed, so no
! element moves. Dimensions and bounds count from 1. A result of an operator is a
! temporary: the next operator, function or assignment uses it up. So temporaries
! go at once, and the daemon need not keep them. A temporary used twice is an error
! (each handle carries a serial number), never a wrong value.
module braze
   use, intrinsic :: iso_c_binding
   use braze_c
   implicit none
   private

#define ALL_PAIRS(N) N/**/_aa, N/**/_ar8, N/**/_r8a, N/**/_ar4, N/**/_r4a, N/**/_ai4, N/**/_i4a, N/**/_ai8, N/**/_i8a

   integer(c_int), parameter, public :: braze_bool = 0, braze_int32 = 3, braze_int64 = 4, &
      braze_real16 = 9, braze_real32 = 10, braze_real64 = 11, braze_complex64 = 12, braze_complex128 = 13
   integer, parameter, public :: braze_eager = 1, braze_unfused = 2, braze_no_start = 4
   ! Floating-point errors, for braze_check.
   integer, parameter, public :: braze_divide = 1, braze_overflow = 2, braze_underflow = 4, braze_invalid = 8
   ! After a loss the next operation connects again by itself.
   integer, parameter :: BRAZE_RECONNECT = 8

   type, public :: braze_array_t
      private
      type(c_ptr) :: p = c_null_ptr
      integer(c_int64_t) :: serial = 0
      logical :: temporary = .false.
   contains
      procedure, private :: assign_array, from_r8, from_r4, from_i4, from_i8, from_c8, from_l1
      procedure, private, pass(rhs) :: to_r8, to_r4, to_i4, to_i8, to_c8, to_l1
      procedure, private :: read_r8, read_r4, read_i4, read_i8, read_c8, read_l1
      procedure, private :: put_a, put_r8, put_r4, put_i4, put_i8
      generic :: assignment(=) => assign_array, from_r8, from_r4, from_i4, from_i8, from_c8, &
         from_l1, to_r8, to_r4, to_i4, to_i8, to_c8, to_l1
      generic, public :: read => read_r8, read_r4, read_i4, read_i8, read_c8, read_l1
      generic, public :: put => put_a, put_r8, put_r4, put_i4, put_i8
      procedure, public :: slice => array_slice
      procedure, public :: shape => array_shape
      procedure, public :: rank => array_rank
      procedure, public :: dtype => array_dtype
      procedure, public :: data => array_data
      procedure, public :: fence => array_fence
      procedure, public :: prefetch => array_prefetch
      procedure, public :: clear => array_clear
      final :: array_finalize
   end type

   ! A kernel of text (docs/language.md), and an argument of a call, which braze_in and braze_inout
   ! make of a variable.
   type, public :: braze_kernel_t
      private
      type(c_ptr) :: p = c_null_ptr
      type(c_scalar), allocatable :: result(:) ! of the last call
   contains
      procedure, private :: copy_kernel, get_r8, get_r4, get_i4, get_i8, get_c8, get_l1
      generic :: assignment(=) => copy_kernel
      procedure, public :: call => kernel_call
      generic, public :: get => get_r8, get_r4, get_i4, get_i8, get_c8, get_l1
      final :: kernel_finalize
   end type
   type, public :: braze_argument_t
      private
      type(c_kernel_arg) :: c
      integer(c_int64_t) :: extents(8) = 0, strides(8) = 0
      character(60) :: problem = ''
   end type
   integer, parameter :: KERNEL_PARAMETERS = 64
   public :: braze_kernel, braze_in, braze_inout

   public :: braze_init, braze_finish, braze_device, braze_precision, braze_check, braze_make, braze_alloc, braze_full, braze_arange, braze_cast
   public :: operator(+), operator(-), operator(*), operator(/), operator(**)
   public :: operator(==), operator(/=), operator(<), operator(<=), operator(>), operator(>=)
   public :: operator(.and.), operator(.or.), operator(.not.)
   public :: sqrt, exp, log, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, abs
   public :: asinh, acosh, atanh, conjg, atan2, hypot, mod, modulo, min, max, merge
   public :: sum, product, minval, maxval, any, all, minloc, maxloc, matmul, dot_product
   public :: transpose, reshape, braze_cumsum, braze_cumprod, braze_concat, braze_sort, braze_argsort
   public :: braze_publish, braze_unpublish, braze_open, braze_shared
   public :: braze_session_name, braze_random_t, braze_random_uniform, braze_random_normal

#include "braze_interfaces.inc"

   integer, parameter :: OP_ADD = 1, OP_SUBTRACT = 2, OP_MULTIPLY = 3, OP_DIVIDE = 4, &
      OP_POWER = 5, OP_EQUAL = 6, OP_NOT_EQUAL = 7, OP_LESS = 8, OP_LESS_EQUAL = 9, &
      OP_GREATER = 10, OP_GREATER_EQUAL = 11, OP_AND = 12, OP_OR = 13, OP_NOT = 14, &
      OP_ATAN2 = 15, OP_HYPOT = 16, OP_FMOD = 17, OP_REMAINDER = 18, OP_MIN = 19, OP_MAX = 20, &
      OP_WHERE = 21, OP_SQRT = 22, OP_EXP = 23, OP_LOG = 24, OP_LOG10 = 25, OP_SIN = 26, &
      OP_COS = 27, OP_TAN = 28, OP_ASIN = 29, OP_ACOS = 30, OP_ATAN = 31, OP_SINH = 32, &
      OP_COSH = 33, OP_TANH = 34, OP_ASINH = 35, OP_ACOSH = 36, OP_ATANH = 37, OP_ABS = 38, &
      OP_CONJ = 39, OP_SUM = 40, OP_PROD = 41, OP_AMIN = 42, OP_AMAX = 43, OP_ANY = 44, &
      OP_ALL = 45, OP_ARGMIN = 46, OP_ARGMAX = 47, OP_NEGATIVE = 48, &
      OP_CUMSUM = 49, OP_CUMPROD = 50, OP_SORT = 51, OP_ARGSORT = 52, OP_COUNT = 52
   character(13), parameter :: op_names(OP_COUNT) = [character(13) :: 'add', 'subtract', &
      'multiply', 'divide', 'power', 'equal', 'not_equal', 'less', 'less_equal', 'greater', &
      'greater_equal', 'logical_and', 'logical_or', 'logical_not', 'arctan2', 'hypot', 'fmod', &
      'remainder', 'minimum', 'maximum', 'where', 'sqrt', 'exp', 'log', 'log10', 'sin', 'cos', &
      'tan', 'arcsin', 'arccos', 'arctan', 'sinh', 'cosh', 'tanh', 'arcsinh', 'arccosh', &
      'arctanh', 'absolute', 'conjugate', 'sum', 'prod', 'min', 'max', 'any', 'all', 'argmin', &
      'argmax', 'negative', 'cumsum', 'cumprod', 'sort', 'argsort']

   ! The program's connection, and the wire numbers of op_names, from braze_init on.
   type(c_ptr), save :: session = c_null_ptr
   integer(c_int), save :: op_wire(OP_COUNT) = -1

contains

   ! ---- Errors ----

   subroutine report(code, text, stat, errmsg)
      integer, intent(in) :: code
      character(*), intent(in) :: text
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      if (present(stat)) then
         stat = code
         if (present(errmsg) .and. code /= 0) errmsg = text
      else if (code /= 0) then
         error stop 'braze: '//text
      end if
   end subroutine

   function text_of(err) result(text)
      type(c_error), intent(in) :: err
      character(:), allocatable :: text
      integer :: i
      text = ''
      do i = 1, size(err%text)
         if (err%text(i) == c_null_char) exit
         text = text//err%text(i)
      end do
   end function

   subroutine must(code, err)
      integer(c_int), intent(in) :: code
      type(c_error), intent(in) :: err
      if (code /= 0) call report(int(code), text_of(err))
   end subroutine

   ! ---- The connection ----

   subroutine braze_init(socket, name, device, flags, stat, errmsg)
      character(*), intent(in), optional :: socket, name, device
      integer, intent(in), optional :: flags
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      character(kind=c_char, len=:), allocatable, target :: socket_c, name_c, device_c
      type(c_options) :: opt
      type(c_error) :: err
      integer(c_int) :: code
      integer :: i

      if (present(stat)) stat = 0
      if (c_associated(session)) return
      opt%size = c_sizeof(opt)
      if (present(socket)) then
         socket_c = trim(socket)//c_null_char
         opt%socket = c_loc(socket_c)
      end if
      if (present(name)) then
         name_c = trim(name)//c_null_char
         opt%name = c_loc(name_c)
      end if
      if (present(device)) then
         device_c = trim(device)//c_null_char
         opt%device = c_loc(device_c)
      end if
      opt%flags = BRAZE_RECONNECT
      if (present(flags)) opt%flags = ior(opt%flags, int(flags, c_int))
      code = c_connect(session, opt, err)
      if (code /= 0) session = c_null_ptr
      do i = 1, OP_COUNT
         op_wire(i) = c_op_find(trim(op_names(i))//c_null_char)
      end do
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! The device that operations from now on ask for: "cpu", "cuda:0", ...; "auto": the
   ! daemon chooses by cost; absent: as asked when connecting.
   subroutine braze_device(name, stat, errmsg)
      character(*), intent(in), optional :: name
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      character(kind=c_char, len=:), allocatable, target :: name_c
      type(c_ptr) :: where
      type(c_error) :: err
      integer(c_int) :: code

      if (.not. c_associated(session)) call braze_init()
      where = c_null_ptr
      if (present(name)) then
         name_c = trim(name)//c_null_char
         where = c_loc(name_c)
      end if
      code = c_set_device(session, where, err)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! How exact products of single precision from now on have to be on a GPU: 'full' or 'tf32';
   ! absent: as asked when connecting.
   subroutine braze_precision(name, stat, errmsg)
      character(*), intent(in), optional :: name
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      character(kind=c_char, len=:), allocatable, target :: name_c
      type(c_ptr) :: wanted
      type(c_error) :: err
      integer(c_int) :: code

      if (.not. c_associated(session)) call braze_init()
      wanted = c_null_ptr
      if (present(name)) then
         name_c = trim(name)//c_null_char
         wanted = c_loc(name_c)
      end if
      code = c_set_precision(session, wanted, err)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! What operators see the program called from now on; '': by BRAZE_NAME, or as its file.
   subroutine braze_session_name(name, stat, errmsg)
      character(*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      character(kind=c_char, len=:), allocatable, target :: name_c
      type(c_error) :: err
      integer(c_int) :: code

      if (.not. c_associated(session)) call braze_init()
      name_c = trim(name)//c_null_char
      code = c_session_name(session, c_loc(name_c), err)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! Check what is recorded from now on for these floating-point errors, a sum of
   ! braze_divide and its kind; 0: for none. Who reads what such an error led to fails.
   subroutine braze_check(errors)
      integer, intent(in) :: errors

      if (.not. c_associated(session)) call braze_init()
      call c_watch_errors(session, int(errors, c_int), 0_c_int, c_null_funptr, c_null_ptr)
   end subroutine

   ! End the connection; arrays that are still held become unusable.
   subroutine braze_finish()
      if (c_associated(session)) call c_close(session)
      session = c_null_ptr
   end subroutine

   integer(c_int) function op_code(index)
      integer, intent(in) :: index
      if (.not. c_associated(session)) call braze_init()
      op_code = op_wire(index)
   end function

   ! ---- Handles ----

   subroutine set(a, p)
      type(braze_array_t), intent(inout) :: a
      type(c_ptr), intent(in) :: p
      a%p = p
      a%serial = c_serial(p)
      a%temporary = .true.
   end subroutine

   function problem(a) result(text)
      class(braze_array_t), intent(in) :: a
      character(:), allocatable :: text
      text = ''
      if (.not. c_associated(a%p)) then
         text = 'an array is used before it has a value'
      else if (a%temporary) then
         if (c_serial(a%p) /= a%serial) &
            text = 'an expression is used twice: assign it to a variable first'
      end if
   end function

   subroutine check(a)
      class(braze_array_t), intent(in) :: a
      character(:), allocatable :: text
      if (c_associated(a%p) .and. .not. a%temporary) return
      text = problem(a)
      if (len(text) > 0) call report(1, text)
   end subroutine

   ! The statement is done with a: a temporary goes.
   subroutine consume(a)
      class(braze_array_t), intent(in) :: a
      if (a%temporary) call c_release(a%p)
   end subroutine

   impure elemental subroutine array_finalize(self)
      type(braze_array_t), intent(inout) :: self
      if (c_associated(self%p) .and. .not. self%temporary) call c_release(self%p)
      self%p = c_null_ptr
   end subroutine

   subroutine array_clear(self)
      class(braze_array_t), intent(inout) :: self
      if (c_associated(self%p) .and. .not. self%temporary) call c_release(self%p)
      self%p = c_null_ptr
      self%temporary = .false.
   end subroutine

   ! Give lhs the handle p, which it owns from now on.
   subroutine own(lhs, p)
      class(braze_array_t), intent(inout) :: lhs
      type(c_ptr), intent(in) :: p
      call array_clear(lhs)
      lhs%p = p
      lhs%serial = c_serial(p)
   end subroutine

   ! A temporary moves; a variable's value is copied, lazily, as Fortran's = does.
   subroutine assign_array(lhs, rhs)
      class(braze_array_t), intent(inout) :: lhs
      class(braze_array_t), intent(in) :: rhs
      type(c_error) :: err
      type(c_ptr) :: p
      call check(rhs)
      if (rhs%temporary) then
         p = rhs%p
      else if (c_associated(lhs%p, rhs%p)) then
         return
      else
         call must(c_cast(p, rhs%p, c_dtype_of(rhs%p), err), err)
      end if
      call own(lhs, p)
   end subroutine

   ! ---- Shape ----

   ! Extents in Fortran's order.
   function array_shape(self) result(extents)
      class(braze_array_t), intent(in) :: self
      integer(c_int64_t), allocatable :: extents(:)
      integer(c_int64_t), pointer :: c(:)
      integer :: n
      call check(self)
      n = c_ndim(self%p)
      call c_f_pointer(c_shape(self%p), c, [n])
      extents = c(n:1:-1)
   end function

   integer function array_rank(self)
      class(braze_array_t), intent(in) :: self
      call check(self)
      array_rank = c_ndim(self%p)
   end function

   integer function array_dtype(self)
      class(braze_array_t), intent(in) :: self
      call check(self)
      array_dtype = c_dtype_of(self%p)
   end function

   ! ---- Copies in and out ----

   subroutine upload(a, dtype, extents, data, stat, errmsg)
      class(braze_array_t), intent(inout) :: a
      integer(c_int), intent(in) :: dtype
      integer(c_int64_t), intent(in) :: extents(:)
      type(c_ptr), intent(in) :: data
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(c_error) :: err
      type(c_ptr) :: p
      integer(c_int) :: code

      call braze_init(stat=stat, errmsg=errmsg)
      if (.not. c_associated(session)) return
      code = c_from_data(p, session, dtype, size(extents), extents(size(extents):1:-1), &
                         c_null_ptr, data, err)
      if (code == 0) call own(a, p)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   subroutine download(a, dtype, extents, data, stat, errmsg)
      class(braze_array_t), intent(in) :: a
      integer(c_int), intent(in) :: dtype
      integer(c_int64_t), intent(in) :: extents(:)
      type(c_ptr), intent(in) :: data
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      character(:), allocatable :: text
      type(c_error) :: err
      type(c_ptr) :: p
      integer(c_int) :: code

      text = problem(a)
      if (len(text) == 0) then
         if (c_ndim(a%p) /= size(extents)) then
            text = 'the ranks of the two sides differ'
         else if (any(array_shape(a) /= extents)) then
            text = 'the shapes of the two sides differ'
         end if
      end if
      if (len(text) > 0) then
         call report(2, text, stat, errmsg)
         return
      end if
      p = a%p
      code = 0
      ! As Fortran's assignment, convert to the left side's type.
      if (c_dtype_of(a%p) /= dtype) code = c_cast(p, a%p, dtype, err)
      if (code == 0) code = c_read(data, p, err)
      if (c_dtype_of(a%p) /= dtype .and. .not. c_associated(p, a%p)) call c_release(p)
      call consume(a)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

#define KIND_TAG r8
#define TYPE_SPEC real(c_double)
#define DTYPE braze_real64
#include "braze_convert.inc"
#define KIND_TAG r4
#define TYPE_SPEC real(c_float)
#define DTYPE braze_real32
#include "braze_convert.inc"
#define KIND_TAG i4
#define TYPE_SPEC integer(c_int32_t)
#define DTYPE braze_int32
#include "braze_convert.inc"
#define KIND_TAG i8
#define TYPE_SPEC integer(c_int64_t)
#define DTYPE braze_int64
#include "braze_convert.inc"
#define KIND_TAG c8
#define TYPE_SPEC complex(c_double_complex)
#define DTYPE braze_complex128
#include "braze_convert.inc"
#define KIND_TAG l1
#define TYPE_SPEC logical(c_bool)
#define DTYPE braze_bool
#include "braze_convert.inc"

   ! ---- Shared memory ----

   ! A new array and the address of its elements, for c_f_pointer; writable until
   ! its first use in an operation, and after fence.
   subroutine braze_alloc(a, data, extents, dtype, stat, errmsg)
      type(braze_array_t), intent(inout) :: a
      type(c_ptr), intent(out) :: data
      integer, intent(in) :: extents(:)
      integer(c_int), intent(in), optional :: dtype
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(c_error) :: err
      type(c_ptr) :: p
      integer(c_int) :: code, d

      data = c_null_ptr
      call braze_init(stat=stat, errmsg=errmsg)
      if (.not. c_associated(session)) return
      d = braze_real64
      if (present(dtype)) d = dtype
      code = c_alloc(p, data, session, d, size(extents), reversed(extents), err)
      if (code == 0) call own(a, p)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! Address of the present value, which must not be written; waits for it.
   subroutine array_data(self, data, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      type(c_ptr), intent(out) :: data
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(c_error) :: err
      integer(c_int) :: code
      data = c_null_ptr
      call check(self)
      code = c_data(data, self%p, c_null_funptr, c_null_ptr, err)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! Make the elements writable until the next operation that uses them.
   subroutine array_fence(self, data, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      type(c_ptr), intent(out) :: data
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(c_error) :: err
      integer(c_int) :: code
      data = c_null_ptr
      call check(self)
      code = c_fence(data, self%p, c_null_funptr, c_null_ptr, err)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! Start computing the value without waiting for it.
   subroutine array_prefetch(self, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(c_error) :: err
      type(c_ptr) :: future
      integer(c_int) :: code
      call check(self)
      code = c_demand(future, 1, [self%p], err)
      if (code == 0) call c_future_release(future)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   ! ---- Creation ----

   function reversed(extents) result(c)
      integer, intent(in) :: extents(:)
      integer(c_int64_t) :: c(size(extents))
      c = extents(size(extents):1:-1)
   end function

   function braze_full(extents, value, dtype) result(r)
      integer, intent(in) :: extents(:)
      real(c_double), intent(in) :: value
      integer(c_int), intent(in), optional :: dtype
      type(braze_array_t) :: r
      type(c_error) :: err
      type(c_arg) :: v
      type(c_ptr) :: p
      integer(c_int) :: d
      if (.not. c_associated(session)) call braze_init()
      d = braze_real64
      if (present(dtype)) d = dtype
      v = arg_r8(value)
      call must(c_full(p, session, d, size(extents), reversed(extents), v%scalar, err), err)
      call set(r, p)
   end function

#include "braze_random.inc"
#include "braze_share.inc"

   ! first, first + step, ... (n elements)
   function braze_arange(n, first, step, dtype) result(r)
      integer, intent(in) :: n
      real(c_double), intent(in) :: first, step
      integer(c_int), intent(in), optional :: dtype
      type(braze_array_t) :: r
      type(c_error) :: err
      type(c_arg) :: v(2)
      type(c_ptr) :: p
      integer(c_int) :: d
      if (.not. c_associated(session)) call braze_init()
      d = braze_real64
      if (present(dtype)) d = dtype
      v = [arg_r8(first), arg_r8(step)]
      call must(c_arange(p, session, d, int(n, c_int64_t), v(1)%scalar, v(2)%scalar, err), err)
      call set(r, p)
   end function

   ! ---- Views ----

   ! a(first(1):last(1):step(1), ...): bounds from 1, both included; a view.
   function array_slice(self, first, last, step) result(r)
      class(braze_array_t), intent(in) :: self
      integer, intent(in) :: first(:), last(:)
      integer, intent(in), optional :: step(:)
      type(braze_array_t) :: r
      type(c_error) :: err
      type(c_ptr) :: p
      integer :: by(size(first)), n
      call check(self)
      n = c_ndim(self%p)
      if (size(first) /= n .or. size(last) /= n) &
         call report(2, 'slice: as many bounds as the array has dimensions are needed')
      by = 1
      if (present(step)) by = step
      if (any(by == 0)) call report(1, 'slice: a step is zero')
      call must(c_slice(p, self%p, reversed(first - 1), reversed(max(0, (last - first + by)/by)), &
                        reversed(by), err), err)
      call set(r, p)
   end function

   function transpose_a(a) result(r)
      type(braze_array_t), intent(in) :: a
      type(braze_array_t) :: r
      type(c_error) :: err
      type(c_ptr) :: p
      call check(a)
      call must(c_transpose(p, a%p, c_null_ptr, err), err)
      call set(r, p)
      call consume(a)
   end function

   function reshape_i4(a, extents) result(r)
      type(braze_array_t), intent(in) :: a
      integer(c_int32_t), intent(in) :: extents(:)
      type(braze_array_t) :: r
      call reshape_to(r, a, int(extents, c_int64_t))
   end function

   function reshape_i8(a, extents) result(r)
      type(braze_array_t), intent(in) :: a
      integer(c_int64_t), intent(in) :: extents(:)
      type(braze_array_t) :: r
      call reshape_to(r, a, extents)
   end function

   subroutine reshape_to(r, a, extents)
      type(braze_array_t), intent(inout) :: r
      type(braze_array_t), intent(in) :: a
      integer(c_int64_t), intent(in) :: extents(:)
      type(c_error) :: err
      type(c_ptr) :: p
      call check(a)
      call must(c_reshape(p, a%p, size(extents), extents(size(extents):1:-1), err), err)
      call set(r, p)
      call consume(a)
   end subroutine

   ! ---- Operations ----

   type(c_arg) function arg_array(a)
      type(braze_array_t), intent(in) :: a
      call check(a)
      arg_array%array = a%p
   end function

   type(c_arg) function arg_r8(v)
      real(c_double), intent(in) :: v
      arg_r8%scalar%dtype = braze_real64
      arg_r8%scalar%bits(1) = transfer(v, 0_c_int64_t)
   end function

   type(c_arg) function arg_r4(v)
      real(c_float), intent(in) :: v
      arg_r4%scalar%dtype = braze_real32
      arg_r4%scalar%bits(1) = int(transfer(v, 0_c_int32_t), c_int64_t)
   end function

   ! An integer takes the array's type, as 2*x does for a real x.
   type(c_arg) function arg_i8(v)
      integer(c_int64_t), intent(in) :: v
      arg_i8%scalar%dtype = braze_int64
      arg_i8%scalar%weak = 1
      arg_i8%scalar%bits(1) = v
   end function

   subroutine apply(r, code, args)
      type(braze_array_t), intent(inout) :: r
      integer, intent(in) :: code
      type(c_arg), intent(in) :: args(:)
      type(c_error) :: err
      type(c_ptr) :: p
      call must(c_apply(p, c_null_ptr, op_code(code), size(args), args, err), err)
      call set(r, p)
   end subroutine

   subroutine binary(r, code, a, b)
      type(braze_array_t), intent(inout) :: r
      integer, intent(in) :: code
      type(c_arg), intent(in) :: a, b
      call apply(r, code, [a, b])
   end subroutine

   function logical_and_aa(a, b) result(r)
      type(braze_array_t), intent(in) :: a, b
      type(braze_array_t) :: r
      call binary(r, OP_AND, arg_array(a), arg_array(b))
      call consume(a)
      call consume(b)
   end function

   function logical_or_aa(a, b) result(r)
      type(braze_array_t), intent(in) :: a, b
      type(braze_array_t) :: r
      call binary(r, OP_OR, arg_array(a), arg_array(b))
      call consume(a)
      call consume(b)
   end function

   ! merge(where true, where false, mask)
   function merge_aa(t, f, mask) result(r)
      type(braze_array_t), intent(in) :: t, f, mask
      type(braze_array_t) :: r
      call apply(r, OP_WHERE, [arg_array(mask), arg_array(t), arg_array(f)])
      call consume(t)
      call consume(f)
      call consume(mask)
   end function

   function merge_ar8(t, f, mask) result(r)
      type(braze_array_t), intent(in) :: t, mask
      real(c_double), intent(in) :: f
      type(braze_array_t) :: r
      call apply(r, OP_WHERE, [arg_array(mask), arg_array(t), arg_r8(f)])
      call consume(t)
      call consume(mask)
   end function

   function merge_r8a(t, f, mask) result(r)
      real(c_double), intent(in) :: t
      type(braze_array_t), intent(in) :: f, mask
      type(braze_array_t) :: r
      call apply(r, OP_WHERE, [arg_array(mask), arg_r8(t), arg_array(f)])
      call consume(f)
      call consume(mask)
   end function

#include "braze_functions.inc"

   function braze_cast(a, dtype) result(r)
      type(braze_array_t), intent(in) :: a
      integer(c_int), intent(in) :: dtype
      type(braze_array_t) :: r
      type(c_error) :: err
      type(c_ptr) :: p
      call check(a)
      call must(c_cast(p, a%p, dtype, err), err)
      call set(r, p)
      call consume(a)
   end function

   ! ---- Reductions: dimension d of Fortran is axis ndim - d of C ----

   subroutine reduce(r, code, a, dim)
      type(braze_array_t), intent(inout) :: r
      integer, intent(in) :: code
      type(braze_array_t), intent(in) :: a
      integer, intent(in), optional :: dim
      type(c_error) :: err
      type(c_ptr) :: p
      integer(c_int) :: axes, n
      call check(a)
      n = c_ndim(a%p)
      axes = ibits(-1, 0, n)
      if (present(dim)) then
         if (dim < 1 .or. dim > n) call report(5, 'dim is not a dimension of the array')
         axes = ibset(0, n - dim)
      end if
      call must(c_reduce(p, op_code(code), a%p, axes, 0, -1, err), err)
      call set(r, p)
      call consume(a)
   end subroutine

#define NAME sum_a
#define CODE OP_SUM
#include "braze_reduce.inc"
#define NAME product_a
#define CODE OP_PROD
#include "braze_reduce.inc"
#define NAME minval_a
#define CODE OP_AMIN
#include "braze_reduce.inc"
#define NAME maxval_a
#define CODE OP_AMAX
#include "braze_reduce.inc"
#define NAME any_a
#define CODE OP_ANY
#include "braze_reduce.inc"
#define NAME all_a
#define CODE OP_ALL
#include "braze_reduce.inc"

   ! Positions along dim, from 1.
   function minloc_a(a, dim) result(r)
      type(braze_array_t), intent(in) :: a
      integer, intent(in) :: dim
      type(braze_array_t) :: r, zero_based
      call reduce(zero_based, OP_ARGMIN, a, dim)
      call binary(r, OP_ADD, arg_array(zero_based), arg_i8(1_c_int64_t))
      call consume(zero_based)
   end function

   function maxloc_a(a, dim) result(r)
      type(braze_array_t), intent(in) :: a
      integer, intent(in) :: dim
      type(braze_array_t) :: r, zero_based
      call reduce(zero_based, OP_ARGMAX, a, dim)
      call binary(r, OP_ADD, arg_array(zero_based), arg_i8(1_c_int64_t))
      call consume(zero_based)
   end function

   ! Sums, products of the elements so far along dim, the first one by default.
   function braze_cumsum(a, dim) result(r)
      type(braze_array_t), intent(in) :: a
      integer, intent(in), optional :: dim
      type(braze_array_t) :: r
      call along(r, OP_CUMSUM, a, dim)
   end function

   function braze_cumprod(a, dim) result(r)
      type(braze_array_t), intent(in) :: a
      integer, intent(in), optional :: dim
      type(braze_array_t) :: r
      call along(r, OP_CUMPROD, a, dim)
   end function

   ! One of them, or of those that sort.
   subroutine along(r, code, a, dim)
      type(braze_array_t), intent(inout) :: r
      integer, intent(in) :: code
      type(braze_array_t), intent(in) :: a
      integer, intent(in), optional :: dim
      type(c_error) :: err
      type(c_ptr) :: p
      call check(a)
      if (code >= OP_SORT) then
         call must(c_sort(p, op_code(code), a%p, axis_of(a, dim), err), err)
      else
         call must(c_scan(p, op_code(code), a%p, axis_of(a, dim), -1, err), err)
      end if
      call set(r, p)
      call consume(a)
   end subroutine

   ! The arrays of a list one after the other along dim, the last one by default: where the
   ! elements of each lie side by side.
   function braze_concat(parts, dim) result(r)
      type(braze_array_t), intent(in) :: parts(:)
      integer, intent(in), optional :: dim
      type(braze_array_t) :: r
      type(c_error) :: err
      type(c_ptr) :: p, list(size(parts))
      integer :: k, axis
      do k = 1, size(parts)
         call check(parts(k))
         list(k) = parts(k)%p
      end do
      axis = 0
      if (present(dim)) axis = c_ndim(parts(1)%p) - dim
      call must(c_concatenate(p, size(parts), list, axis, -1, err), err)
      call set(r, p)
      do k = 1, size(parts)
         call consume(parts(k))
      end do
   end function

   ! The elements along dim in order, and their places, counted from 1; dim is the first by default.
   function braze_sort(a, dim) result(r)
      type(braze_array_t), intent(in) :: a
      integer, intent(in), optional :: dim
      type(braze_array_t) :: r
      call along(r, OP_SORT, a, dim)
   end function

   function braze_argsort(a, dim) result(r)
      type(braze_array_t), intent(in) :: a
      integer, intent(in), optional :: dim
      type(braze_array_t) :: r, zero_based
      call along(zero_based, OP_ARGSORT, a, dim)
      call binary(r, OP_ADD, arg_array(zero_based), arg_i8(1_c_int64_t))
      call consume(zero_based)
   end function

   ! The axis of C that dim is, the first dimension where it is absent.
   integer function axis_of(a, dim)
      type(braze_array_t), intent(in) :: a
      integer, intent(in), optional :: dim
      integer :: along, ndim
      ndim = c_ndim(a%p)
      along = 1
      if (present(dim)) along = dim
      if (along < 1 .or. along > ndim) call report(5, 'dim is not a dimension of the array')
      axis_of = ndim - along
   end function

   ! With extents reversed, A B is B' A' of the same bytes.
   function matmul_aa(a, b) result(r)
      type(braze_array_t), intent(in) :: a, b
      type(braze_array_t) :: r
      type(c_error) :: err
      type(c_ptr) :: p
      call check(a)
      call check(b)
      call must(c_matmul(p, b%p, a%p, err), err)
      call set(r, p)
      call consume(a)
      call consume(b)
   end function

   function dot_product_aa(a, b) result(r)
      type(braze_array_t), intent(in) :: a, b
      type(braze_array_t) :: r, terms
      call binary(terms, OP_MULTIPLY, arg_array(a), arg_array(b))
      call reduce(r, OP_SUM, terms)
      call consume(a)
      call consume(b)
   end function

   ! ---- Writing into an array or a slice of it ----

   subroutine put(dst, src, stat, errmsg)
      class(braze_array_t), intent(in) :: dst
      type(c_arg), intent(in) :: src
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      type(c_error) :: err
      integer(c_int) :: code
      call check(dst)
      code = c_assign(dst%p, src, err)
      call report(int(code), text_of(err), stat, errmsg)
   end subroutine

   subroutine put_a(self, src, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      type(braze_array_t), intent(in) :: src
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      call put(self, arg_array(src), stat, errmsg)
      call consume(src)
   end subroutine

   subroutine put_r8(self, src, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      real(c_double), intent(in) :: src
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      call put(self, arg_r8(src), stat, errmsg)
   end subroutine

   subroutine put_r4(self, src, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      real(c_float), intent(in) :: src
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      call put(self, arg_r4(src), stat, errmsg)
   end subroutine

   subroutine put_i4(self, src, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      integer(c_int32_t), intent(in) :: src
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      call put(self, arg_i8(int(src, c_int64_t)), stat, errmsg)
   end subroutine

   subroutine put_i8(self, src, stat, errmsg)
      class(braze_array_t), intent(in) :: self
      integer(c_int64_t), intent(in) :: src
      integer, intent(out), optional :: stat
      character(*), intent(inout), optional :: errmsg
      call put(self, arg_i8(src), stat, errmsg)
   end subroutine
   ! ---- Kernels of text ----

#include "braze_kernel.inc"
#define KIND_TAG r8
#define TYPE_SPEC real(c_double)
#define DTYPE braze_real64
#define CONVERT(v) real(v, c_double)
#include "braze_argument.inc"
#define KIND_TAG r4
#define TYPE_SPEC real(c_float)
#define DTYPE braze_real32
#define CONVERT(v) real(v, c_float)
#include "braze_argument.inc"
#define KIND_TAG i4
#define TYPE_SPEC integer(c_int32_t)
#define DTYPE braze_int32
#define CONVERT(v) int(v, c_int32_t)
#include "braze_argument.inc"
#define KIND_TAG i8
#define TYPE_SPEC integer(c_int64_t)
#define DTYPE braze_int64
#define CONVERT(v) int(v, c_int64_t)
#include "braze_argument.inc"
#define KIND_TAG c8
#define TYPE_SPEC complex(c_double_complex)
#define DTYPE braze_complex128
#define CONVERT(v) cmplx(v, kind=c_double)
#include "braze_argument.inc"
#define KIND_TAG l1
#define TYPE_SPEC logical(c_bool)
#define DTYPE braze_bool
#define CONVERT(v) logical(.not. abs(v) <= 0, c_bool)
#include "braze_argument.inc"

end module
