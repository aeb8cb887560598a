// SPDX-License-Identifier: MIT
// A game in C++ whose work is in a member of a template, in a namespace. FRAMES frames, or until it
// is ended.
//
//   engine FRAMES

#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fprof.h>

namespace engine
{

struct Quick {
};

template <typename Kind> class Renderer
{
      public:
	__attribute__((noinline)) void draw(std::uint64_t ns);

      private:
	volatile std::uint64_t work_ = 0;
};

template <typename Kind> void Renderer<Kind>::draw(std::uint64_t ns)
{
	const std::clock_t until =
		std::clock() + static_cast<std::clock_t>(ns * CLOCKS_PER_SEC / 1000000000);

	while (std::clock() < until)
		for (int i = 0; i < 20000; i++)
			work_ = work_ * 6364136223846793005u + 1;
}

} // namespace engine

int main(int argc, char **argv)
{
	const unsigned long frames = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
	engine::Renderer<engine::Quick> renderer;

	for (unsigned long n = 0; frames == 0 || n < frames; n++) {
		renderer.draw(3000000);
		fprof_frame_mark();
	}
	return 0;
}
