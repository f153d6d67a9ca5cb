! SPDX-License-Identifier: Apache-2.0
! The Fortran module against plain Fortran, expression by expression.
program test_fortran
   use braze
   use, intrinsic :: iso_c_binding
   implicit none
   integer :: failures = 0

   call copies()
   call arithmetic()
   call reductions()
   call random_numbers()
   call sections()
   call products()
   call shared_memory()
   call published()
   call kernels()
   call kernel_types()
   call kernel_errors()
   call errors()
   call floating_point_errors()
   call many_temporaries()
   call braze_finish()
   if (failures > 0) error stop 'some checks failed'

contains

   subroutine expect(ok, what)
      logical, intent(in) :: ok
      character(*), intent(in) :: what
      if (ok) return
      failures = failures + 1
      print '(2a)', 'failed: ', what
   end subroutine

   function ramp() result(x)
      real(c_double) :: x(3, 4)
      integer :: i
      x = reshape([(real(i, c_double), i=1, 12)], [3, 4])
   end function

   subroutine copies()
      type(braze_array_t) :: a, b
      real(c_double) :: x(3, 4), y(3, 4), s
      real(c_float) :: f(2)
      integer(c_int32_t) :: k(2, 2), l(2, 2)
      logical(c_bool) :: t(3)
      x = ramp()
      a = x
      y = a
      call expect(all(x == y), 'a matrix comes back')
      call expect(all(a%shape() == [3, 4]) .and. a%rank() == 2, 'its shape is Fortran''s')
      b = a
      b = b + 1
      y = a
      call expect(all(x == y), 'assignment copies the value')
      a = x(1:3:2, 2:4:2)
      y(1:2, 1:2) = a
      call expect(all(y(1:2, 1:2) == x(1:3:2, 2:4:2)), 'a section that is not contiguous')
      k = reshape([1, 2, 3, 4], [2, 2])
      a = k
      l = a
      call expect(all(k == l) .and. a%dtype() == braze_int32, 'integers')
      a = braze_cast(a, braze_real16)
      a = a / 3 + 2048
      y(1:2, 1:2) = a
      call expect(a%dtype() == braze_real16, 'float16, which Fortran has no kind of')
      call expect(all(y(1:2, 1:2) == reshape([2048, 2048, 2048, 2050], [2, 2])), 'halves round')
      a = 2.5_c_double
      s = a
      call expect(s == 2.5_c_double .and. a%rank() == 0, 'a scalar')
      a = [1.25_c_float, 2.5_c_float]
      f = a
      y(1:2, 1) = a
      call expect(all(f == [1.25, 2.5]) .and. all(y(1:2, 1) == [1.25d0, 2.5d0]), &
                  'conversion to the left side''s type')
      a = [1.0d0, 2.0d0, 3.0d0]
      t = a > 1.5d0
      call expect(.not. logical(t(1)) .and. logical(t(2)) .and. logical(t(3)), 'comparisons')
   end subroutine

   subroutine arithmetic()
      type(braze_array_t) :: a, b
      real(c_double) :: x(3, 4), y(3, 4), z(3, 4)
      x = ramp()
      y = 13 - x
      a = x
      b = y
      z = (a + b)*a - a/b
      call expect(all(z == (x + y)*x - x/y), 'arrays with arrays')
      z = 2*a + 1.5d0 - 3/b
      call expect(all(z == 2*x + 1.5d0 - 3/y), 'arrays with numbers')
      z = -a
      call expect(all(z == -x), 'minus')
      z = sqrt(a) + abs(a - 6)
      call expect(all(z == sqrt(x) + abs(x - 6)), 'functions')
      z = merge(a, b, a > b)
      call expect(all(z == merge(x, y, x > y)), 'merge')
      z = min(a, b) + max(a, 5.0d0)
      call expect(all(z == min(x, y) + max(x, 5.0d0)), 'min and max')
      z = modulo(a - 6, 4.0d0) + mod(a - 6, 4.0d0)
      call expect(all(z == modulo(x - 6, 4.0d0) + mod(x - 6, 4.0d0)), 'both remainders')
   end subroutine

   subroutine reductions()
      type(braze_array_t) :: a, list(3)
      real(c_double) :: x(3, 4), rows(3), columns(4), so_far(3, 4), s, joined(3, 12), tall(9, 4)
      integer(c_int64_t) :: at(4), order(3, 4)
      x = ramp()
      x(2, 3) = -1
      a = x
      s = sum(a)
      call expect(s == sum(x), 'sum')
      columns = sum(a, 1)
      call expect(all(columns == sum(x, 1)), 'sum over rows')
      rows = maxval(a, dim=2)
      call expect(all(rows == maxval(x, dim=2)), 'maxval over columns')
      s = minval(a)
      call expect(s == -1, 'minval')
      at = minloc(a, 1)
      call expect(all(at == minloc(x, 1)), 'minloc counts from 1')
      so_far = braze_cumsum(a)
      call expect(all(so_far(3, :) == sum(x, 1)) .and. all(so_far(1, :) == x(1, :)), 'cumsum down columns')
      list(1) = a
      list(2) = a*2
      list(3) = a
      joined = braze_concat(list)
      call expect(all(joined(:, 1:4) == x) .and. all(joined(:, 5:8) == 2*x) .and. all(joined(:, 9:) == x), 'concat of columns')
      tall = braze_concat(list, dim=1)
      call expect(all(tall(4:6, :) == 2*x) .and. all(tall(7:, :) == x), 'concat of rows')
      so_far = braze_sort(a)
      call expect(so_far(1, 3) == -1 .and. so_far(2, 3) <= so_far(3, 3), 'sort down columns')
      order = braze_argsort(a, dim=1)
      call expect(order(1, 3) == 2 .and. all(order(:, 1) == [1, 2, 3]), 'argsort counts from 1')
      so_far = braze_cumprod(a, dim=2)
      call expect(all(so_far(:, 2) == x(:, 1)*x(:, 2)), 'cumprod along rows')
   end subroutine

   subroutine random_numbers()
      type(braze_array_t) :: a, b
      type(braze_random_t) :: one, two
      real(c_double) :: x(100, 3), y(100, 3), z(300)
      one = braze_random_t(7, 0)
      two = one
      a = braze_random_uniform(one, [100, 3])
      b = braze_random_uniform(two, [300], -1.0d0, 3.0d0)
      call expect(one%draw == 1 .and. two%draw == 1, 'a draw counts')
      x = a
      z = b
      call expect(minval(x) >= 0 .and. maxval(x) < 1, 'uniform numbers')
      call expect(all(z == -1 + 4*reshape(x, [300])), 'the same numbers, scaled')
      a = braze_random_normal(one, [100, 3])
      b = braze_random_normal(two, [100, 3], 5.0d0, 0.5d0)
      x = a
      y = b
      call expect(abs(sum(x)/300) < 0.25d0 .and. maxval(abs(x)) < 8.6d0, 'normal numbers')
      call expect(all(y == 5 + 0.5d0*x), 'of another mean')
   end subroutine

   subroutine sections()
      type(braze_array_t) :: a, v
      real(c_double) :: x(3, 4), got(2, 2), flat(12), t(4, 3)
      x = ramp()
      a = x
      got = a%slice([1, 2], [3, 4], [2, 2])
      call expect(all(got == x(1:3:2, 2:4:2)), 'slice')
      got(:, 1) = reshape(a%slice([3, 1], [2, 1], [-1, 1]), [2])
      call expect(all(got(:, 1) == x(3:2:-1, 1)), 'a negative step')
      v = a%slice([2, 2], [3, 3])
      call v%put(v*10)
      x(2:3, 2:3) = x(2:3, 2:3)*10
      flat = reshape(a, [12])
      call expect(all(flat == reshape(x, [12])), 'a write through a slice; reshape')
      t = transpose(a)
      call expect(all(t == transpose(x)), 'transpose')
   end subroutine

   subroutine products()
      type(braze_array_t) :: a, b, u
      real(c_double) :: x(3, 4), y(4, 2), z(3, 2), w(4), s
      integer :: i
      x = ramp()
      y = reshape([(real(i*i, c_double), i=1, 8)], [4, 2])
      w = [1, 2, 3, 4]
      a = x
      b = y
      u = w
      z = matmul(a, b)
      call expect(all(z == matmul(x, y)), 'matmul')
      z(:, 1) = matmul(a, u)
      call expect(all(z(:, 1) == matmul(x, w)), 'matrix by vector')
      z(1, :) = matmul(u, b)
      call expect(all(z(1, :) == matmul(w, y)), 'vector by matrix')
      s = dot_product(u, u)
      call expect(s == 30, 'dot_product')
   end subroutine

   subroutine shared_memory()
      type(braze_array_t) :: a, b
      type(c_ptr) :: p
      real(c_double), pointer :: x(:, :)
      real(c_double) :: y(2, 3)
      call braze_alloc(a, p, [2, 3])
      call c_f_pointer(p, x, [2, 3])
      x = 1
      x(2, 1) = 5
      b = a + 0
      call a%fence(p)
      call c_f_pointer(p, x, [2, 3])
      x(2, 1) = 7
      y = b
      call expect(y(2, 1) == 5, 'what was recorded keeps the old value')
      y = a
      call expect(y(2, 1) == 7 .and. y(1, 1) == 1, 'a write into shared memory')
   end subroutine

   subroutine floating_point_errors()
      type(braze_array_t) :: a, b
      real(c_double) :: x(2)
      character(200) :: message
      integer :: stat
      a = [1._c_double, 0._c_double]
      call braze_check(braze_divide + braze_invalid)
      b = 1 / a
      call braze_check(0)
      call b%read(x, stat, message)
      call expect(stat == 27 .and. index(message, 'divide by zero encountered in divide') == 1, &
         'a division by zero fails who reads it')
      b = 1 / a
      x = b
      call expect(x(1) == 1 .and. x(2) > huge(x), 'and is infinity where nobody asked')
   end subroutine

   ! Kernels of text: what they take of each type and rank, and what they give.
   subroutine kernels()
      type(braze_kernel_t) :: k
      type(braze_array_t) :: a, b
      real(c_double) :: x(3, 4), y(3, 4), s
      call braze_kernel(k, 'kernel f(inout x: float64[:,:], w: float64[:,:], p: int64, q: float64)'// &
                        ' -> (s: float64) base 1 { x[p, :] += q * w[p, :]; x[1, 4] = 9; s = sum(x[2:4, p]) }')
      x = ramp()
      y = x
      call k%call([braze_inout(x), braze_in(y), braze_in(2), braze_in(0.5d0)])
      y(2, :) = y(2, :) + 0.5d0*y(2, :)
      y(1, 4) = 9
      call expect(all(x == y), 'a kernel writes a plain matrix, subscripts in Fortran''s order')
      call k%get(1, s)
      call expect(s == sum(x(2:3, 2)), 'its result')
      x = ramp()
      a = x
      b = a + 0
      call k%call([braze_inout(a), braze_in(b), braze_in(2_c_int64_t), braze_in(0.5)])
      x = a
      call expect(all(x == y), 'and one of braze''s')
      x = b
      call expect(all(x == ramp()), 'but no other that had its value')
   end subroutine

   subroutine kernel_types()
      type(braze_kernel_t) :: k
      real(c_float) :: f(5), r
      integer(c_int32_t) :: i(2, 3, 4), n
      integer(c_int64_t) :: j(6), m
      complex(c_double_complex) :: z(3), c
      logical(c_bool) :: t(4), l
      f = [1, 2, 3, 4, 5]
      i = reshape([(n, n=1, 24)], [2, 3, 4])
      j = [(m, m=1, 6)]
      z = [(1d0, 2d0), (3d0, 4d0), (0d0, 1d0)]
      t = [.true., .false., .true., .true.]
      call braze_kernel(k, 'kernel f(inout f: float32[:], inout i: int32[:,:,:], inout j: int64[:],'// &
                        ' inout z: complex128[:], inout t: bool[:], c: complex128, l: bool, n: int32)'// &
                        ' -> (r: float32, n2: int32, m: uint8, c2: complex128, l2: bool) base 1 {'// &
                        ' f[::2] = 0; i[2, 3, :] = n; j[:] = j[::-1]; z[:] *= c; t[:] = t[:] ^ l;'// &
                        ' r = sum(f); n2 = n + 1; m = 200; c2 = sum(z); l2 = any(t) }')
      call k%call([braze_inout(f), braze_inout(i), braze_inout(j), braze_inout(z), braze_inout(t), &
                   braze_in((0d0, 1d0)), braze_in(.true._c_bool), braze_in(-7_c_int32_t)])
      call expect(all(f == [0, 2, 0, 4, 0]) .and. all(i(2, 3, :) == -7) .and. count(i == -7) == 4, &
                  'real(4), integer(4)')
      call expect(all(j == [6, 5, 4, 3, 2, 1]) .and. z(1) == (-2d0, 1d0), 'integer(8), complex(8)')
      call expect(all(t .eqv. [.false., .true., .false., .false.]), 'logical')
      call k%get(1, r)
      call k%get(2, n)
      call k%get(3, m)
      call k%get(4, c)
      call k%get(5, l)
      call expect(r == 6 .and. n == -6 .and. m == 200 .and. c == sum(z) .and. l, 'results of each type')
      call k%get(2, r)
      call k%get(1, n)
      call expect(r == -6 .and. n == 6, 'results are converted as by =')
   end subroutine

   subroutine kernel_errors()
      type(braze_kernel_t) :: k
      type(braze_array_t) :: a
      real(c_double) :: x(3, 4), v(4)
      integer :: stat
      character(200) :: text
      call braze_kernel(k, 'kernel f(inout x: float64[:]) -> (s: float64) base 1 {'//new_line('a')// &
                        '  x[len(x) + 1] = 1'//new_line('a')//'}', stat, text)
      call expect(stat == 0, 'a kernel')
      v = 0
      text = ''
      call k%call([braze_inout(v)], stat, text)
      call expect(stat == 6 .and. index(text, 'line 2: index 5') > 0, 'a wrong index: '//trim(text))
      call k%get(1, v(1), stat, text)
      call expect(stat /= 0, 'no result after an error')
      call k%call([braze_in(v)], stat, text)
      call expect(stat /= 0 .and. index(text, 'braze_inout') > 0, 'what is read is not written: '//trim(text))
      x = 0
      call k%call([braze_inout(x(1, :))], stat, text)
      call expect(stat /= 0 .and. index(text, 'gaps') > 0, 'a section with gaps: '//trim(text))
      call k%call([braze_inout(x(:, 2))], stat, text)
      call expect(stat == 6, 'a column has none')
      call k%call([braze_inout(x)], stat, text)
      call expect(stat == 2 .and. index(text, "'x' has 1 axes") > 0, 'a wrong rank: '//trim(text))
      call k%call([braze_inout(v), braze_in(1)], stat, text)
      call expect(stat == 1 .and. index(text, 'takes 1 arguments') > 0, 'too many: '//trim(text))
      a = v
      call k%call([braze_in(a + 1)], stat, text)
      call expect(stat /= 0 .and. index(text, 'assign it') > 0, 'an expression: '//trim(text))
      call braze_kernel(k, 'kernel f(x: float64[:]) {'//new_line('a')//'  let y = $'//new_line('a')//'}', stat, text)
      call expect(stat == 1 .and. index(text, 'line 2, column 11: ') == 1, 'a wrong text: '//trim(text))
      call k%call([braze_inout(v)], stat, text)
      call expect(stat == 6, 'after which the kernel is what it was')
   end subroutine

   subroutine errors()
      type(braze_array_t) :: a, b
      real(c_double) :: y(2)
      integer :: stat
      character(200) :: text
      a = ramp()
      text = ''
      call a%read(y, stat, text)
      call expect(stat /= 0 .and. len_trim(text) > 0, 'a wrong shape is reported')
      b = [1.0d0, 2.0d0]
      call a%put(b, stat, text)
      call expect(stat == 2 .and. index(text, 'shape') > 0, 'the library''s message arrives')
      call b%read(y, stat, text)
      call expect(stat == 0 .and. all(y == [1, 2]), 'and success is 0')
      text = ''
      call braze_device('cuda:9', stat, text)
      call expect(stat /= 0 .and. index(text, 'cuda:9') > 0, 'an unknown device is reported')
      call braze_device('cpu')
      b = b + 1
      call braze_device()
      text = ''
      call braze_precision('half', stat, text)
      call expect(stat /= 0 .and. index(text, 'tf32') > 0, 'an unknown precision is reported with those there are')
      call braze_precision('tf32')
      b = b + 0
      call braze_precision()
      call braze_session_name('heat in Fortran', stat, text)
      call expect(stat == 0, 'the session gets a name')
      call braze_session_name('')
      call b%read(y, stat, text)
      call expect(stat == 0 .and. all(y == [2, 3]), 'a section on a device')
   end subroutine

   subroutine published()
      type(braze_array_t) :: a, b
      real(c_double) :: y(3, 4)
      integer(c_int64_t) :: version, copied
      integer :: stat
      character(200) :: text
      character(32) :: key
      call braze_shared(.true.)
      a = ramp()
      a = a * 2
      call braze_shared(.false.)
      call braze_publish(a, 'fortran.test', version=version, copied=copied)
      call expect(version == 1 .and. copied == 0, 'published without a copy')
      a = a + 1
      call braze_open(b, 'fortran.test', version)
      call expect(version == 1 .and. all(b%shape() == [3, 4]), 'opened in its shape')
      y = b
      call expect(all(y == 2 * ramp()), 'with its values')
      y = b + a
      call expect(all(y == 4 * ramp() + 1), 'and computed with')
      call b%put(a, stat, text)
      call expect(stat == 8, 'but not written: '//trim(text))
      call braze_publish(a, 'fortran.test', 'key', version=version, key=key)
      call expect(version == 2 .and. len_trim(key) == 32, 'the next version, with a key')
      call braze_open(b, 'key:'//key)
      y = b
      call expect(all(y == 2 * ramp() + 1), 'by which it is opened')
      call braze_unpublish('fortran.test')
      call braze_open(b, 'fortran.test', stat=stat, errmsg=text)
      call expect(stat == 28, 'and is no more: '//trim(text))
      y = b
      call expect(all(y == 2 * ramp() + 1), 'for others than who has it')
   end subroutine

   ! Were temporaries kept, the ids of one session would be used up.
   subroutine many_temporaries()
      type(braze_array_t) :: a
      real(c_double) :: s
      integer :: i
      a = 1.0d0
      do i = 1, 10000
         a = (a + 1)*1.0d0 - 1.0d0 + 1
      end do
      s = a
      call expect(s == 10001, 'a long chain')
   end subroutine
end program
