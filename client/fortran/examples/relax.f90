! SPDX-License-Identifier: Apache-2.0
! Heat on a plate until it rests: a kernel of text, whose sweep uses what it has just written and
! whose reduction says how much is left to do; and the same in Fortran.
program relax
   use braze
   use, intrinsic :: iso_fortran_env, only: int64, real64
   implicit none
   character(*), parameter :: nl = new_line('a'), text = &
      'kernel relax(inout u: float64[:,:], old: float64[:,:], bound: float64, most: int64)'//nl// &
      '    -> (turns: int64, change: float64) base 1 {'//nl// &
      '  let n = len(u); let m = len(u, 1)'//nl// &
      '  change = bound + 1'//nl// &
      '  while change > bound and turns < most {'//nl// &
      '    change = 0'//nl// &
      '    for j in 2..m {'//nl// &
      '      let before = sum(u[2:n, j])'//nl// &
      '      u[2:n, j] = 0.25 * (u[1:n - 1, j] + u[3:, j] + u[2:n, j - 1] + u[2:n, j + 1])'//nl// &
      '      change += abs(sum(u[2:n, j]) - before)'//nl// &
      '    }'//nl// &
      '    turns += 1'//nl// &
      '  }'//nl// &
      '  change = max(abs(u[:, :] - old))'//nl// &
      '}'
   integer, parameter :: n = 12, m = 10
   real(real64), parameter :: bound = 1d-3
   real(real64) :: u(n, m), v(n, m), start(n, m), got(n, m), change, before
   integer(int64) :: turns
   integer :: j, plain
   character(200) :: message
   integer :: stat
   type(braze_kernel_t) :: k
   type(braze_array_t) :: a

   call braze_kernel(k, text)
   start = 0
   start(1, :) = 100
   u = start
   call k%call([braze_inout(u), braze_in(start), braze_in(bound), braze_in(500_int64)])
   call k%get(1, turns)
   call k%get(2, change)
   print '(a, i0, a, f10.6)', 'kernel  turns ', turns, '  largest change ', change

   v = start
   plain = 0
   change = bound + 1
   do while (change > bound .and. plain < 500)
      change = 0
      do j = 2, m - 1
         before = sum(v(2:n - 1, j))
         v(2:n - 1, j) = 0.25d0*(v(1:n - 2, j) + v(3:n, j) + v(2:n - 1, j - 1) + v(2:n - 1, j + 1))
         change = change + abs(sum(v(2:n - 1, j)) - before)
      end do
      plain = plain + 1
   end do
   print '(a, i0)', 'Fortran turns ', plain
   if (plain /= turns .or. maxval(abs(u - v)) > 1d-10) error stop 'the two differ'

   ! The same kernel on an array of braze's.
   a = start
   call k%call([braze_inout(a), braze_in(start), braze_in(bound), braze_in(500_int64)])
   got = a
   if (any(got /= u)) error stop 'an array of braze''s differs'

   ! What is wrong is named with its place.
   call braze_kernel(k, 'kernel f(x: float64[:]) {'//nl//'  x[:] = 1'//nl//'}', stat, message)
   print '(2a)', 'as expected, ', trim(message)
   if (index(message, 'line 2, column 3: ') /= 1) error stop 'another message'
   call braze_finish()
end program
