/* commands.h: the commands of the program, one file each.
 *
 * A command gets the arguments after its name and returns what the shell gets
 * (arguments.h). "--help" among them prints its help.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int command_bench(int count, char **arguments);
int command_check(int count, char **arguments);
int command_eval(int count, char **arguments);
int command_compare(int count, char **arguments);
int command_train(int count, char **arguments);
int command_explain(int count, char **arguments);
int command_info(int count, char **arguments);
int command_lab(int count, char **arguments);
int command_predict(int count, char **arguments);

#endif
