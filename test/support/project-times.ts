/** A reporter that prints how long the files of each project took, after vitest's own summary. */
import type { Reporter, TestModule } from 'vitest/node';

interface ProjectTime {
  files: number;
  milliseconds: number;
}

export default class ProjectTimes implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const times = new Map<string, ProjectTime>();
    for (const module of modules) {
      const time = times.get(module.project.name) ?? { files: 0, milliseconds: 0 };
      time.files += 1;
      time.milliseconds += module.diagnostic().duration;
      times.set(module.project.name, time);
    }
    for (const [project, { files, milliseconds }] of times) {
      console.log(`    Project  ${project}: ${files} files, ${(milliseconds / 1000).toFixed(1)} s`);
    }
  }
}
