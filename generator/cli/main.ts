/** Entry point of `cover-catalogue generate`. */
import '../../program/environment/node-version.ts';
import './generate.ts';
